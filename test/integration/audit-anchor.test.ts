/** A checkpoint on chain: it goes through Bursar's own lane, and proves the log when nothing else is left. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { requestAnchor } from '../../src/audit/anchor/request-anchor.ts'
import { openAuditKey, PUBLIC_SUFFIX } from '../../src/audit/checkpoints/audit-key.ts'
import { createCheckpointFile } from '../../src/audit/checkpoints/checkpoint-file.ts'
import { createTakeCheckpoint } from '../../src/audit/checkpoints/take-checkpoint.ts'
import { checkpointCommand } from '../../src/audit/commands/checkpoint-command.ts'
import { verifyCommand } from '../../src/audit/commands/verify-command.ts'
import { createApiContext } from '../../src/compose/api-context.ts'
import { ALL_AGGREGATES, CAPABILITIES } from '../../src/compose/capabilities.ts'
import { createWalletFacts } from '../../src/wallets/wallet-facts.ts'
import { runCommandLine } from '../support/cli.ts'
import type { LoadWallet } from '../support/load.ts'
import { runToItsEnd } from '../support/run-program.ts'
import type { LocalService } from '../support/service-local.ts'
import { withStage } from '../support/service-stage.ts'

const MODELS = CAPABILITIES.flatMap(({ verified = [] }) => verified)

t.test('anchors', async (t) => {
  // A node that pauses is waited for: a verification reports anchors that it could not read.
  const stage = await withStage(t, { env: { RPC_TIMEOUT_MS: '60000' } })
  const { kernel, pool, places } = stage.service
  const [wallet] = (await stage.service.makeWallets(1)) as [LoadWallet]
  const directory = await mkdtemp(join(tmpdir(), 'bursar-anchor-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const [keyFile, checkpointFile] = [join(directory, 'audit.key'), join(directory, 'checkpoints')]
  const signer = await openAuditKey({ keyFile, origin: 'example.com/test' }, async () => false)
  const file = createCheckpointFile(checkpointFile)
  const takeCheckpoint = createTakeCheckpoint({ pool, signer, file, clock: kernel.clock })
  const ctx = { ...createApiContext(kernel), factsOf: createWalletFacts(pool) }
  const chains = kernel.chains.all.map(({ settings, agreed }) => ({ ...settings, agreed }))
  const files = { publicKeyFile: `${keyFile}${PUBLIC_SUFFIX}`, checkpointFile }
  const verifying = { databaseUrl: places.database_url, ...files, models: MODELS, aggregates: ALL_AGGREGATES }
  const commands = [
    checkpointCommand((task) =>
      task({ takeCheckpoint, checkpointFile, requestAnchor: (...asked) => requestAnchor(ctx, ...asked) }),
    ),
    verifyCommand((task) => task({ ...verifying, chains })),
  ]
  const run = (line: string) => runCommandLine(commands, line)

  await t.test('an unknown wallet anchors nothing, nor does the database user of the auditor', async (t) => {
    const unknown = await run('audit checkpoint --anchor wal_none')
    t.match(unknown, { code: 2, out: '', err: 'The wallet wal_none does not exist.\n' })
    await refusedAsAuditor(t, stage.service, wallet, { keyFile, checkpointFile })
  })

  const taken = await run(`audit checkpoint --json --anchor ${wallet.id}`)
  const { anchor_transaction_id: id, note, size } = JSON.parse(taken.out)
  await stage.settle()
  const { hash, state } = await stage.read(wallet, id)

  await t.test('the note is the calldata of a confirmed transaction of that wallet to itself', async (t) => {
    t.equal(state, 'confirmed')
    const mined = (await stage.rpc('eth_getTransactionByHash', hash)) as Record<string, string>
    t.equal(Buffer.from(mined.input?.slice(2) ?? '', 'hex').toString(), note)
    t.equal(mined.from, mined.to)
    t.equal(mined.from, wallet.address.toLowerCase())
  })

  await t.test('the log is verified against the anchor on chain', async (t) => {
    t.match(await run('audit verify'), { code: 0, out: /checkpoints agree/, err: '' })
    const silent = [verifyCommand((task) => task({ ...verifying, chains: [] }))]
    t.match(await runCommandLine(silent, 'audit verify'), {
      code: 0,
      err: `The anchor transaction ${hash} was not checked`,
    })
  })

  await t.test('an anchor must be a hash on chain, made by this key', async (t) => {
    t.match(await run('audit verify --anchors 0x12'), { code: 2, err: /64 hexadecimal digits/ })
    const nowhere = `0x${'ab'.repeat(32)}`
    t.match(await run(`audit verify --anchors ${nowhere}`), {
      code: 1,
      err: `The anchor transaction ${nowhere} is not in a block`,
    })
    const paid = await stage.send(wallet, '0.01')
    await stage.settle()
    const other = (await stage.read(wallet, paid)).hash
    t.match(await run(`audit verify --anchors ${other}`), {
      code: 1,
      err: /contains no checkpoint signed with the key/,
    })
  })

  await t.test('an anchor alone shows that the tail of the log was removed', async (t) => {
    await writeFile(checkpointFile, '')
    const client = await pool.connect()
    await client.query("SET session_replication_role = 'replica'")
    await client.query('DELETE FROM audit_checkpoints')
    await client.query('DELETE FROM events WHERE position > (SELECT position FROM events ORDER BY 1 OFFSET 3 LIMIT 1)')
    await client.query('DELETE FROM transactions')
    client.release(true)
    const { code, out } = await run(`audit verify --anchors ${hash}`)
    t.equal(code, 1)
    t.match(out, `The log has 4 events, but the checkpoint of transaction ${hash} on ethereum covers ${size}`)
  })
})

async function refusedAsAuditor(
  t: Test,
  { urlAs, env }: LocalService,
  { id }: LoadWallet,
  { keyFile, checkpointFile }: { readonly keyFile: string; readonly checkpointFile: string },
): Promise<void> {
  const files = { AUDIT_KEY_FILE: keyFile, AUDIT_CHECKPOINT_FILE: checkpointFile }
  const settings = { ...env, ...files, DATABASE_URL: urlAs('auditor'), AUDIT_ORIGIN: 'example.com/test' }
  t.match(await runToItsEnd(`bursar audit checkpoint --anchor ${id}`, settings), {
    code: 1,
    complaint: /^[^\n]*permission denied[^\n]*: run this command with the database user of the operator\n$/,
  })
}
