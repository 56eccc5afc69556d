/**
 * The processes of a second installation, with its own keys and files, on the database of a first one: each reports in one
 * line what does not fit, and leaves the log, the checkpoints and the keys of the first as they were.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { composeTakeCheckpoint } from '../../src/compose/auditor.ts'
import { loadConfig } from '../../src/compose/load-config.ts'
import { openKeystore } from '../../src/compose/open-keystore.ts'
import { composeWatchRestores } from '../../src/compose/restores.ts'
import { openTenantSeeds } from '../../src/keys/tenant-seeds.ts'
import { adoptTagKey } from '../../src/transactions/tag-key.ts'
import { withAudit } from '../support/audit.ts'
import { KEY, TAG_KEY } from '../support/config.ts'
import { keptLog } from '../support/kept-log.ts'
import { withService } from '../support/kit-service.ts'
import { recoveryOf, runRecovery } from '../support/recovery.ts'
import { runToItsEnd } from '../support/run-program.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const first = await withService(t)
const { pool, directory } = first
await first.wallet()
await first.wallet('globex')
await adoptTagKey(first.log, [Buffer.from(TAG_KEY, 'base64')])
const auditKernel = { pool, clock: Date.now, logger: keptLog().logger, config: loadConfig(first.env) }
// As its signer does at the start.
await composeWatchRestores({ ...auditKernel, log: first.log }).refusal('start')
const signed = await (await composeTakeCheckpoint(auditKernel))()

/** The second installation has worked on a database of its own, so it has a key of its own for everything. */
const elsewhere = await withAudit(t)
await elsewhere.transfers(1)
await elsewhere.takeCheckpoint()
const empty = {
  DATABASE_URL: first.env.DATABASE_URL,
  DATA_DIR: join(directory, 'second'),
  TRANSACTION_TAG_KEY: randomBytes(32).toString('base64'),
  LOG_LEVEL: 'error',
}
const ownAudit = {
  AUDIT_KEY_FILE: elsewhere.keyFile,
  AUDIT_CHECKPOINT_FILE: elsewhere.checkpointFile,
  AUDIT_ORIGIN: 'example.com/test',
}

/** Everything that a stranger could spoil: the log, the checkpoints, the sealed keys. */
async function spoilable() {
  const { rows } = await pool.query(
    `SELECT (SELECT array_agg(stream_id || ' ' || stream_version || ' ' || type ORDER BY position) FROM events) AS events,
            (SELECT array_agg(c::text ORDER BY c::text) FROM audit_checkpoints AS c) AS checkpoints,
            (SELECT array_agg(k::text ORDER BY k::text) FROM sealed_keys AS k) AS keys`,
  )
  return rows[0]
}

/** A seed of its own for a tenant of the first installation. */
async function seeded(name: string, ...tenants: readonly string[]) {
  const env = { ...empty, KEYSTORE: 'directory', KEYSTORE_DIR: join(directory, name) }
  const seeds = await openTenantSeeds(await openKeystore({ config: loadConfig(env), pool }))
  for (const tenant of tenants) (await seeds.loadOrCreate(tenant)).fill(0)
  return env
}

t.test('a signer with another key of tags ends with one line', async (t) => {
  const before = await spoilable()
  t.match(await runToItsEnd('signer', empty), { code: 1, complaint: /^[^\n]*TRANSACTION_TAG_KEY[^\n]*\n$/ })
  t.strictSame(await spoilable(), before)
})

t.test('a signer with another key of the keystore in the database ends with one line', async (t) => {
  const env = { ...empty, TRANSACTION_TAG_KEY: TAG_KEY, KEYSTORE: 'postgres' }
  const own = { config: loadConfig({ ...env, KEYSTORE_KEY: KEY }), pool }
  ;(await (await openTenantSeeds(await openKeystore(own))).loadOrCreate('acme')).fill(0)
  t.teardown(() => pool.query('DELETE FROM sealed_keys'))
  const before = await spoilable()
  const ended = await runToItsEnd('signer', { ...env, KEYSTORE_KEY: randomBytes(32).toString('base64') })
  t.match(ended, { code: 1, complaint: /^The keystore is encrypted with key [^\n]*KEYSTORE_KEY[^\n]*\n$/ })
  const after = await spoilable()
  t.strictSame([after.keys, after.checkpoints], [before.keys, before.checkpoints])
})

t.test('an auditor without a key makes none, and ends with one line', async (t) => {
  const before = await spoilable()
  const ended = await runToItsEnd('auditor', empty)
  t.match(ended, { code: 1, complaint: /^[^\n]*audit\.key is missing, but checkpoints were signed[^\n]*\n$/ })
  t.notOk(existsSync(join(empty.DATA_DIR, 'audit', 'audit.key')))
  t.strictSame(await spoilable(), before)
})

t.test('an auditor with the key of another log reports it and signs nothing, and the first one goes on', async (t) => {
  const before = await spoilable()
  const program = fileURLToPath(new URL('../../dist/bin/auditor.js', import.meta.url))
  const child = spawn(process.execPath, [program], {
    env: { PATH: process.env.PATH, ...empty, ...ownAudit },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const alert = await new Promise<Record<string, unknown>>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const said = JSON.parse(line) as Record<string, unknown>
      if (said.level === 'fatal') resolve(said)
    })
  })
  t.match(alert, { message: /contradicts a signed checkpoint; the auditor stops signing/ })
  t.match(JSON.stringify(alert), /is not signed with the key of this auditor/)
  await eventually(async () => {
    const { rows } = await pool.query(`SELECT problem FROM heartbeats WHERE process = 'auditor'`)
    return /not signed with the key of this auditor/.test(String(rows[0]?.problem))
  })
  child.kill('SIGTERM')
  await ended
  t.strictSame(await spoilable(), before)
  t.match(await (await composeTakeCheckpoint(auditKernel))(), { size: signed.size, root: signed.root, isNew: false })
})

t.test('a backup with another keystore is refused with one line, and leaves nothing', async (t) => {
  const out = join(directory, 'kit-of-second')
  const backUp = (env: NodeJS.ProcessEnv) =>
    runRecovery(recoveryOf(env), ['backup', '--out', out, '--recipient', first.recipient])
  t.match(await backUp(empty), { code: 1, out: '', err: /^recovery: This machine has neither a keystore[^\n]*\n$/ })
  const other = await backUp(await seeded('other-seeds', 'acme', 'globex'))
  t.match(other, { code: 1, out: '', err: /^recovery: [^\n]*this is not the keystore that created it\.\n$/ })
  const fewer = await backUp(await seeded('no-seeds'))
  t.match(fewer, { code: 3, out: '', err: /^recovery: The keystore has no seed of tenant acme[^\n]*\n$/ })
  t.notOk(existsSync(out))
})

t.test('an empty directory for the keystore gets no seed from a backup or a refused signer', async (t) => {
  const place = join(directory, 'still-empty')
  await mkdir(place, { mode: 0o700 })
  const env = { ...empty, KEYSTORE_DIR: place, KEYSTORE: 'directory' }
  const before = await spoilable()
  t.match(await runToItsEnd('signer', env), { code: 1 })
  t.strictSame(
    (await readdir(place)).filter((name) => name.includes('seed')),
    [],
  )
  t.strictSame(await spoilable(), before)
})

t.end()
