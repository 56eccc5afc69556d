/**
 * PostgreSQL ends in the middle of passes, and queues are emptied while nobody works on lanes: everything that was accepted
 * is on chain once, and no process is started again.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import t, { type Test } from 'tap'
import { migrateDatabase } from '../../src/compose/migrate-database.ts'
import { startPostgres } from '../../src/sandbox/postgres.ts'
import { emptyQueues } from '../support/empty-queues.ts'
import { type HolderKind, type PartitionStage, untilHolds, withPartitionStage } from '../support/partition-stage.ts'
import { startTestRedis } from '../support/redis.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import type { Victim } from '../support/victims.ts'
import { within } from '../support/within.ts'

const MIGRATIONS = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))
const WALLETS = 24
const STEPS = { signer: 'append TransactionSigned', submitter: 'append TransactionSubmitted' } as const
const KINDS = Object.keys(STEPS) as readonly HolderKind[]
/** How often the server ends under load. */
const ENDS = 3

type Server = { readonly url: string; readonly restart: () => Promise<void> }

/** A server of the test that ends as by a loss of power. */
async function withServer(t: Test): Promise<Server> {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-partitions-'))
  const start = () => startPostgres({ directory, settings: { shared_buffers: '32MB' } })
  let server = await start()
  t.after(async () => {
    await server.stop()
    await rm(directory, { recursive: true, force: true })
  })
  const pool = new pg.Pool({ connectionString: server.url, max: 1 })
  const settings = { databaseUrl: server.url, directory: MIGRATIONS, queues: true, logins: [] }
  await migrateDatabase(pool, settings).finally(() => pool.end())
  return {
    url: server.url,
    async restart() {
      process.kill(server.pid, 'SIGKILL')
      await server.exited
      server = await start()
    },
  }
}

async function startBoth(stage: PartitionStage): Promise<Readonly<Record<HolderKind, Victim>>> {
  return { signer: await stage.start('signer'), submitter: await stage.start('submitter') }
}

async function stop(victims: readonly Victim[]): Promise<void> {
  for (const { pid } of victims) process.kill(pid, 'SIGTERM')
  await within('they stop', Promise.all(victims.map(({ ended }) => ended)))
}

const server = await withServer(t)
const stage = await withPartitionStage(t, { wallets: WALLETS, env: { LEASE_MS: '6000' }, databaseUrl: server.url })

for (const kind of KINDS)
  for (const moment of ['before', 'after'] as const)
    t.test(`PostgreSQL ends ${moment} the append of a round of a ${kind}, which goes on with it`, async (t) => {
      const both = await startBoth(stage)
      const { armed, reached } = both[kind].arm({ moment, step: STEPS[kind] }, 'SIGSTOP')
      await armed
      const sending = stage.sendEach()
      await within('it stands', reached)
      await server.restart()
      both[kind].resume()
      await sending
      await stage.mustBeWhole(t)
      await stop(Object.values(both))
    })

t.test(`PostgreSQL ends ${ENDS} times while all partitions are held, under load`, async (t) => {
  const both = await startBoth(stage)
  const load = stage.keepSending()
  for (let n = 0; n < ENDS; n += 1) {
    for (const kind of KINDS) await untilHolds(stage, kind, both[kind], stage.partitions.length)
    await server.restart()
  }
  for (const kind of KINDS) await untilHolds(stage, kind, both[kind], stage.partitions.length)
  await load.end()
  await stage.mustBeWhole(t)
  await stop(Object.values(both))
})

async function statesOf({ service }: PartitionStage): Promise<string> {
  const { rows } = await service.pool.query<{ states: string | null }>(
    "SELECT string_agg(DISTINCT state, ' ') AS states FROM transactions WHERE state <> 'confirmed'",
  )
  return rows[0]?.states ?? ''
}

async function jobsOf({ service }: PartitionStage, queue: 'lane' | 'submit'): Promise<number> {
  const { waiting, active, delayed } = (await service.kernel.jobs.counts())[queue]
  return waiting + active + delayed
}

async function emptiedAtRest(t: Test, stage: PartitionStage, empty: () => Promise<void>): Promise<void> {
  await stage.sendEach()
  await eventually(() => jobsOf(stage, 'lane'))
  await empty()
  t.equal(await statesOf(stage), 'requested')
  const signer = await stage.start('signer')
  await within(
    'all are signed',
    eventually(async () => (await statesOf(stage)) === 'signed'),
  )
  await eventually(() => jobsOf(stage, 'submit'))
  await empty()
  const submitter = await stage.start('submitter')
  await stage.mustBeWhole(t)
  await stop([signer, submitter])
}

t.test('the queue in PostgreSQL is emptied while no signer runs, and again while no submitter does', (t) =>
  emptiedAtRest(t, stage, () => emptyQueues(server.url)),
)

t.test('Redis is emptied while no signer runs, and again while no submitter does', async (t) => {
  const redis = await startTestRedis()
  if (redis === null) return t.comment('skipped: Redis is not available')
  t.after(redis.close)
  const other = await withPartitionStage(t, { wallets: WALLETS, env: { REDIS_URL: redis.url } })
  await emptiedAtRest(t, other, redis.empty)
})

t.end()
