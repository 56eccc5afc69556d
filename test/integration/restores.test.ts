/** Evidence of a restore on real PostgreSQL servers: copies, promoted standbys, and the file of the auditor. */
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { openAuditKey } from '../../src/audit/checkpoints/audit-key.ts'
import { createCheckpointFile } from '../../src/audit/checkpoints/checkpoint-file.ts'
import { createFindMissing } from '../../src/audit/checkpoints/find-missing.ts'
import { createTakeCheckpoint } from '../../src/audit/checkpoints/take-checkpoint.ts'
import { createEventLog, type EventLog } from '../../src/event-log/log.ts'
import { createWakeUps } from '../../src/event-log/wake-ups.ts'
import { databaseAggregate } from '../../src/restores/aggregate.ts'
import type { RestoreEvidence } from '../../src/restores/events.ts'
import { createWatchRestores, type WatchRestores } from '../../src/restores/watch-restores.ts'
import { appendTransfers } from '../support/audit.ts'
import { roleUrls } from '../support/database-login.ts'
import { seedWallet } from '../support/log.ts'
import { withLosableServer } from '../support/postgres-copy.ts'
import { withServerPair } from '../support/postgres-pair.ts'

const NONE = { restores: 0, untagged: false }

type Signer = WatchRestores & {
  readonly pool: pg.Pool
  readonly log: EventLog
  readonly detected: readonly (readonly RestoreEvidence[])[]
  readonly types: () => Promise<readonly string[]>
  readonly close: () => Promise<void>
}

/** A signer that starts now. @param file of the auditor, if it can read it */
function startSigner(url: string, file?: string): Signer {
  const pool = new pg.Pool({ connectionString: url, max: 3 })
  pool.on('error', () => undefined) // The server is killed.
  const wakeUps = createWakeUps(pool, url)
  const log = createEventLog({ pool, wakeUps, clock: Date.now, verifies: true })
  const detected: (readonly RestoreEvidence[])[] = []
  const findMissing = file === undefined ? async () => null : createFindMissing(pool, createCheckpointFile(file))
  const watch = createWatchRestores({ pool, log, findMissing, onDetected: ({ evidence }) => detected.push(evidence) })
  return {
    ...watch,
    pool,
    log,
    detected,
    types: async () => (await log.readStream(databaseAggregate, 'main')).map(({ type }) => type),
    async close() {
      await wakeUps.close()
      await pool.end()
    },
  }
}

async function starting<T>(url: string, use: (signer: Signer) => Promise<T>, file?: string): Promise<T> {
  const signer = startSigner(url, file)
  return use(signer).finally(signer.close)
}

/** A log that can go back, and the file of its auditor. */
async function withAuditedServer(t: Test) {
  const server = await withLosableServer(t)
  const urlAs = await roleUrls(t, server.url)
  const directory = await mkdtemp(join(tmpdir(), 'bursar-restores-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const file = join(directory, 'checkpoints')
  const asOwner = <T>(task: (owner: Signer) => Promise<T>) => starting(server.url, task)
  await asOwner(({ pool }) => seedWallet(pool, { walletId: 'wal_1', balance: 10n ** 30n }))
  return {
    ...server,
    file,
    signer: <T>(use: (signer: Signer) => Promise<T>) => starting(urlAs('signer'), use, file),
    append: (transfers: number) => asOwner(({ log }) => appendTransfers(log, transfers)),
    sign: () =>
      asOwner(async ({ pool }) => {
        const settings = { keyFile: join(directory, 'audit.key'), origin: 'example.com/test' }
        const signer = await openAuditKey(settings, async () => false)
        return createTakeCheckpoint({ pool, signer, file: createCheckpointFile(file), clock: Date.now })()
      }),
    async goBack(copy: string) {
      await server.kill()
      await server.restore(copy)
    },
  }
}

t.test('a restart is no evidence', async (t) => {
  const server = await withAuditedServer(t)
  await server.append(1)
  await server.signer(async (signer) => t.strictSame(await signer.current(), NONE))
  await server.sign()
  await server.kill()
  await server.restart()
  await server.signer(async (signer) => {
    t.strictSame(await signer.current(), NONE)
    t.equal(await signer.refusal('start'), null)
    t.strictSame(await signer.types(), ['DatabaseIdentified'])
  })
})

t.test('a promoted standby is evidence from its first moment on, for signers that run and that start', async (t) => {
  const pair = await withServerPair(t)
  const running = startSigner(pair.url)
  t.after(running.close)
  t.strictSame(await running.current(), NONE)
  await pair.addStandby('synchronous')
  await pair.failOver(false)
  await starting(pair.url, async (signer) => {
    t.strictSame(await signer.current(), { restores: 1, untagged: false })
    t.strictSame(signer.detected, [['timeline']])
  })
  t.strictSame(await running.current(), { restores: 1, untagged: false })
  t.strictSame(await running.types(), ['DatabaseIdentified', 'RestoreDetected'], 'recorded once')
})

t.test('a log without events that were signed is evidence, which outlives the file that showed it', async (t) => {
  const server = await withAuditedServer(t)
  await server.signer((signer) => signer.current())
  await server.append(2)
  await server.sign()
  const copy = await server.copy()
  await server.append(100)
  await server.sign()
  await server.goBack(copy)
  const why = /^the log has \d+ events, but the auditor has signed \d+: /
  await server.signer(async (signer) => {
    t.match(await signer.refusal('start'), why)
    t.match(await signer.refusal('start'), why)
    t.strictSame(signer.detected, [['checkpoint']])
  })
  await server.signer(async (signer) => {
    t.match(await signer.refusal('start'), why)
    t.strictSame(signer.detected, [], 'recorded once')
  })
  await rename(server.file, `${server.file}.evidence`)
  await server.signer(async (signer) => {
    t.equal(await signer.refusal('start'), null)
    t.strictSame(await signer.current(), { restores: 1, untagged: false })
  })
})

t.test(
  'a log that went back and grew past the signed events is evidence, and so is one that was not identified',
  async (t) => {
    const server = await withAuditedServer(t)
    await server.append(100)
    await server.sign()
    const copy = await server.copy()
    await server.signer((signer) => signer.current())
    await server.append(1)
    await server.sign()
    await server.goBack(copy)
    await server.append(3)
    await t.rejects(server.sign(), { code: 'audit_contradiction' }, 'its tree follows the restored log')
    // A signer on another machine, which cannot read the file, is first.
    await starting(server.url, async (signer) => t.strictSame(await signer.current(), NONE))
    const running = startSigner(server.url, server.file)
    t.teardown(running.close)
    t.match(
      await running.refusal('start'),
      /^the first 304 events of the log are not those that the auditor has signed: /,
    )
    t.strictSame(running.detected, [['checkpoint']])
    t.strictSame(await running.current(), { restores: 1, untagged: true })
  },
)

t.test('a stored tree that was damaged is no evidence', async (t) => {
  const server = await withAuditedServer(t)
  await server.append(100)
  await server.sign()
  await starting(server.url, ({ pool }) =>
    pool.query("UPDATE audit_tiles SET hashes = substr(hashes, 33) || '\\x00'::bytea"),
  )
  await server.signer(async (signer) => {
    t.equal(await signer.refusal('start'), null)
    t.strictSame(signer.detected, [])
  })
})

t.end()
