/** The back ends of jobs, each real and behind one interface, so that one suite runs against all of them. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { Test } from 'tap'
import { QUEUE_LIMITS } from '../../src/declarations.ts'
import type { RetryPolicy } from '../../src/jobs/backoff.ts'
import { createJobs } from '../../src/jobs/create-jobs.ts'
import type { Jobs } from '../../src/jobs/jobs.ts'
import { type Postgres, startPostgres } from '../../src/sandbox/postgres.ts'
import { emptyQueues } from './empty-queues.ts'
import { startTestRedis } from './redis.ts'

export type JobPlace = {
  readonly name: string
  /** Whether jobs survive a restart of the server. */
  readonly isDurable: boolean
  /** Empty queues for one test. */
  readonly fresh: () => Promise<Where>
  /** Deletes every job while the queues are in use. */
  readonly empty: (where: Where) => Promise<void>
  /** Closes every connection of all clients. */
  readonly cutConnections: () => Promise<void>
  /** Null when the test may not stop the server. */
  readonly server: { readonly stop: () => Promise<void>; readonly start: () => Promise<void> } | null
  readonly close: () => Promise<void>
}

export type Where = Pick<Parameters<typeof createJobs>[0], 'databaseUrl' | 'redisUrl'>

/** Short retry delays, so that a test sees the last try. */
export const QUICK: RetryPolicy = { attempts: 3, baseMs: 40, capMs: 80 }

/** Runs the suite once for each available back end. */
export async function inEveryPlace(t: Test, suite: (t: Test, place: JobPlace) => Promise<void>): Promise<void> {
  for (const start of [startPostgresPlace, startRedisPlace, startClusterPlace]) {
    const place = await start()
    if (place === null) continue
    await t.test(`on ${place.name}`, (t) => suite(t, place)).finally(place.close)
  }
}

/** A job layer that is closed after the test, and its log. */
export function openJobs(
  t: Test,
  where: Where,
  settings: Partial<Parameters<typeof createJobs>[0]> = {},
): Jobs & { readonly logged: string[] } {
  const logged: string[] = []
  const log = {
    info: (_: object, text: string) => logged.push(text),
    warn: (_: object, text: string) => logged.push(text),
  }
  const jobs = createJobs({ ...where, queues: QUEUE_LIMITS, graceMs: 2_000, retries: QUICK, log, ...settings })
  t.after(jobs.close)
  return { ...jobs, logged }
}

async function startPostgresPlace(): Promise<JobPlace> {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-jobs-'))
  const settings = { fsync: 'off', shared_buffers: '32MB' }
  let postgres: Postgres = await startPostgres({ directory, settings })
  postgres.unref()
  let made = 0

  return {
    name: 'PostgreSQL',
    isDurable: true,
    async fresh() {
      made += 1
      const name = `jobs_${made}`
      await query(postgres.url, `CREATE DATABASE ${name}`)
      return { databaseUrl: postgres.url.replace(/[^/]*$/, name) }
    },
    empty: ({ databaseUrl }) => emptyQueues(databaseUrl),
    cutConnections: () =>
      query(postgres.url, 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()'),
    server: {
      stop: () => postgres.stop(),
      async start() {
        postgres = await startPostgres({ directory, settings })
        postgres.unref()
      },
    },
    async close() {
      await postgres.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

const startRedisPlace = () => redisPlace('Redis', false)
const startClusterPlace = () => redisPlace('Redis Cluster', true)

async function redisPlace(name: string, cluster: boolean): Promise<JobPlace | null> {
  const redis = await startTestRedis({ cluster })
  if (redis === null) return null
  return {
    name,
    isDurable: false,
    async fresh() {
      await redis.empty()
      return { databaseUrl: 'postgres://not.used', redisUrl: redis.url }
    },
    empty: redis.empty,
    cutConnections: redis.cutConnections,
    server: redis.server,
    close: redis.close,
  }
}

async function query(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}
