/**
 * An attacker who writes to the database, against the signer of hd wallets: it takes keys, senders and amounts from the
 * verified log, and signs nothing else.
 */
import t from 'tap'
import { createIssueApiKey } from '../../src/access/issue-api-key.ts'
import { bursarCommands } from '../../src/compose/bursar.ts'
import { signatureAggregate } from '../../src/signatures/aggregate.ts'
import { BAD_EVENTS, insertBad } from '../support/bad-events.ts'
import { runCommandLine } from '../support/cli.ts'
import { createClient } from '../support/client.ts'
import { createWallet, type LoadWallet } from '../support/load.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain, RECIPIENT, withStage } from '../support/service-stage.ts'

const THIEF = '0x000000000000000000000000000000000000dEaD'

const stage = await withStage(t, { env: { KEYSTORE: 'directory' } })
const { service } = stage
const { pool } = service
const [payer, other] = (await service.makeWallets(2)) as [LoadWallet, LoadWallet]

/** Why the signer did not sign a transaction, once per log line. */
const refusals = (id: string) =>
  service.lines.filter(({ transaction_id, level, reason }) => transaction_id === id && level === 50 && reason)
const refused = (id: string) => eventually(() => refusals(id).at(-1))

/** As the superuser of a stolen `DATABASE_URL`. */
async function editEvent(streamId: string, version: number, data: object): Promise<void> {
  await pool.query('ALTER TABLE events DISABLE TRIGGER USER')
  await pool.query('UPDATE events SET data = data::jsonb || $3 WHERE stream_id = $1 AND stream_version = $2', [
    streamId,
    version,
    JSON.stringify(data),
  ])
  await pool.query('ALTER TABLE events ENABLE TRIGGER USER')
}

/** A waiting transfer: no signer runs. */
async function waiting(wallet: LoadWallet, amount: string): Promise<string> {
  await service.stopWorker('signer')
  return stage.send(wallet, amount)
}

t.test("a wallet's row that names another tenant's key does not make that tenant pay", async (t) => {
  const { token } = await createIssueApiKey(service.kernel)(
    { tenantId: 'globex', environment: 'mainnet' },
    { actor: 'operator' },
  )
  const api = createClient(service.baseUrl, token)
  const victim = await createWallet(api, 'ethereum', 'victim')
  await stage.rpc('anvil_setBalance', victim.address, '0xde0b6b3a7640000')
  await pool.query(
    'UPDATE wallets SET key_ref = (SELECT key_ref FROM wallets WHERE wallet_id = $1) WHERE wallet_id = $2',
    [victim.id, payer.id],
  )
  await service.stopWorker('signer')
  await service.startWorker('signer')
  const id = await stage.send(payer, '0.5')
  await stage.until(payer, id, 'submitted')
  await stage.mine(4)
  t.strictSame(await onChain(stage, victim), [], 'the other tenant paid nothing')
  t.equal((await onChain(stage, payer)).length, 1, 'the wallet pays with the key that the log names')
})

t.test('a row that differs from its stream is not signed until it is corrected', async (t) => {
  const id = await waiting(payer, '0.25')
  const changes: readonly (readonly [column: string, value: unknown])[] = [
    ['to_address', THIEF],
    ['amount', '1'],
    ['from_address', other.address],
    ['valid_until', '2099-01-01T00:00:00Z'],
  ]
  for (const [column, value] of changes) {
    const before = refusals(id).length
    const { rows } = await pool.query(`SELECT ${column} AS value FROM transactions WHERE transaction_id = $1`, [id])
    await pool.query(`UPDATE transactions SET ${column} = $2 WHERE transaction_id = $1`, [id, value])
    await service.startWorker('signer')
    await eventually(() => refusals(id).length > before)
    t.match(refusals(id).at(-1), { reason: new RegExp(column) }, `${column} is named: ${refusals(id).at(-1)?.reason}`)
    await service.stopWorker('signer')
    t.match(await stage.read(payer, id), { state: 'requested', hash: null })
    const { findings } = JSON.parse((await runCommandLine(await bursarCommands(service.env), 'stuck --json')).out)
    const tampered = { kind: 'not_as_recorded', subject: `transaction ${id}` }
    t.match(
      findings.find(({ kind }: { kind: string }) => kind === tampered.kind),
      tampered,
    )
    await pool.query(`UPDATE transactions SET ${column} = $2 WHERE transaction_id = $1`, [id, rows[0]?.value])
  }
  const before = await stage.rpc('eth_getBalance', RECIPIENT, 'latest')
  await service.startWorker('signer')
  await stage.settle()
  t.equal((await stage.read(payer, id)).state, 'confirmed', 'the transfer is confirmed in the end')
  t.equal(
    BigInt(String(await stage.rpc('eth_getBalance', RECIPIENT, 'latest'))) - BigInt(String(before)),
    25n * 10n ** 16n,
  )
})

t.test('an event that was edited is not acted on, and holds up no other transaction', async (t) => {
  const id = await waiting(payer, '0.1')
  const next = await stage.send(payer, '0.2')
  const { rows } = await pool.query('SELECT to_address FROM transactions WHERE transaction_id = $1', [id])
  const recipient = rows[0]?.to_address
  await editEvent(`transaction-${id}`, 1, { to: THIEF })
  await pool.query('UPDATE transactions SET to_address = $2 WHERE transaction_id = $1', [id, THIEF])
  await service.startWorker('signer')
  t.match((await refused(id))?.reason, /does not have the hash/)
  await stage.until(payer, next, 'signed', 'submitted')
  t.match(await stage.read(payer, id), { state: 'requested', hash: null })
  await editEvent(`transaction-${id}`, 1, { to: recipient })
  await pool.query('UPDATE transactions SET to_address = $2 WHERE transaction_id = $1', [id, recipient])
  await stage.settle()
  t.equal((await stage.read(payer, id)).state, 'confirmed')
  t.equal(BigInt(String(await stage.rpc('eth_getBalance', THIEF, 'latest'))), 0n)
})

t.test('a message that was edited is not signed', async (t) => {
  await service.stopWorker('signer')
  const { body } = await service.api.insist({
    method: 'POST',
    path: `/v1/wallets/${other.id}/sign/message`,
    key: 'edited-message',
    prefer: 'respond-async',
    body: { message: 'I agree' },
  })
  const id = body.data.signature_id
  await editEvent(`signature-${id}`, 1, { message: `0x${Buffer.from('I do not agree').toString('hex')}` })
  await service.startWorker('signer')
  const { log } = service.workerOf('signer')
  await t.rejects(log.load(signatureAggregate, id), { code: 'broken_chain' })
  t.equal((await service.kernel.log.readStream(signatureAggregate, id)).length, 1)
})

t.test('a bad event of one transaction stops neither its lane nor the blocks of the others', async (t) => {
  const id = await waiting(other, '0.1')
  await insertBad(pool, `transaction-${id}`, BAD_EVENTS['an unknown type'] ?? {})
  const next = await stage.send(other, '0.2')
  await service.startWorker('signer')
  t.match((await refused(id))?.reason, /TransactionTeleported in schema version 1, cannot be read/)
  await stage.until(other, next, 'submitted')
  await insertBad(pool, `transaction-${next}`, BAD_EVENTS['data that cannot be read'] ?? {})
  const last = await stage.send(other, '0.3')
  await stage.until(other, last, 'submitted')
  await stage.mine(8)
  await stage.until(other, last, 'confirmed')
  t.match(await stage.read(other, id), { state: 'requested', hash: null }, 'nothing was signed for it')
  t.match(await stage.read(other, next), { state: 'submitted' }, 'its row stays as it was')
  t.equal((await onChain(stage, other)).length, 2, 'each of the others was paid once')
  const cancelled = await service.api.insist({
    method: 'POST',
    path: `/v1/wallets/${other.id}/transactions/${id}/cancel`,
    key: 'cancel-held',
  })
  t.equal(cancelled.status, 409)
  t.match(JSON.stringify(cancelled.body), /cannot be read.*operator must examine it.*broken_chain/)
})

t.end()
