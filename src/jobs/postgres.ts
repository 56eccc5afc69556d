/**
 * BullMQ on PostgreSQL: its own schema in the database of the log, created by `npm run migrate`, or on first use by an
 * owner.
 */
import {
  type DEFAULT_SCHEMA,
  type PgPool,
  PostgresConnection,
  PostgresQueueBackend,
  quoteSchemaName,
  runMigrations,
} from 'bullmq'
import pg from 'pg'
import type { Locks, Wiring } from './bull.ts'
import { createQueueWatch, type LookAtQueues, type QueueSight, type QueueWatch } from './queue-watch.ts'

/** BullMQ allows no other schema to a pool that it is given. */
export const QUEUE_SCHEMA: typeof DEFAULT_SCHEMA = 'bullmq'
/** A producer sends one statement at a time for each queue; a second connection keeps counts from waiting behind it. */
const PRODUCER_CONNECTIONS = 2
/**
 * A worker fetches, finishes and renews concurrently; statements are short, so more connections would only use memory.
 * It waits for wake-ups on one more.
 */
const CONSUMER_CONNECTIONS = 4
const CONNECT_TIMEOUT_MS = 3_000
/** A statement takes milliseconds: after this time the connection counts as dead. */
const QUERY_TIMEOUT_MS = 10_000
/** Longer than the pauses of a quiet service, so that a job after a pause does not need a new connection. */
const IDLE_TIMEOUT_MS = 180_000
/** A wait for a wake-up on a connection that broke silently ends after about this time. */
const KEEP_ALIVE_MS = 10_000
/** One look at all queues (`queue-watch.ts`) finds a job whose wake-up was lost. */
const WATCHED_POLL_SECONDS = 60

/**
 * Commits do not wait for the disk: a queue holds hints, and this halves the time from add to start. PostgreSQL writes
 * its WAL in order, so anything committed durably after a job was added (the dispatcher's checkpoint) also makes the
 * job durable. BullMQ's functions name its tables without their schema.
 */
const SESSION = `-c synchronous_commit=off -c search_path=${quoteSchemaName(QUEUE_SCHEMA)}`

/**
 * A connection that breaks while BullMQ is not listening emits an error that would end the process. Handling it here
 * loses nothing: the running statement, or the next one, fails with the same error.
 */
class QuietClient extends pg.Client {
  override emit(event: string | symbol, ...details: unknown[]): boolean {
    if (event === 'error' && this.listenerCount('error') === 0) return false
    return super.emit(event as 'error', ...(details as [Error]))
  }
}

const CONNECTION = {
  Client: QuietClient,
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  query_timeout: QUERY_TIMEOUT_MS,
  idleTimeoutMillis: IDLE_TIMEOUT_MS,
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
}

/** BullMQ ends no pool that it is given: here the pool of a queue or worker ends with it. */
class OwnedConnection extends PostgresConnection {
  readonly #pool: PgPool
  #closed: Promise<void> | null = null

  constructor(pool: PgPool) {
    super(pool)
    this.#pool = pool
  }

  override close(): Promise<void> {
    this.#closed ??= super.close().then(() => this.#pool.end())
    return this.#closed
  }
}

/**
 * A watch of all queues takes the place of the polls of each worker, and of the searches for jobs of dead workers in
 * queues where no job runs.
 */
class WatchedBackend extends PostgresQueueBackend {
  readonly #watch: QueueWatch

  constructor(watch: QueueWatch, ...rest: ConstructorParameters<typeof PostgresQueueBackend>) {
    super(...rest)
    this.#watch = watch
  }

  override async moveStalledJobsToWait(): Promise<string[]> {
    return this.#watch.hasActive(this.queueName) ? super.moveStalledJobsToWait() : []
  }

  override async waitForJob(blockTimeout: number): ReturnType<PostgresQueueBackend['waitForJob']> {
    const end = this.#watch.wait(this.queueName, async () => {
      await this.disconnectBlocking()
      await this.reconnectBlocking()
    })
    return super.waitForJob(blockTimeout).finally(end)
  }
}

/** @param onError gets the errors of the watch, which then looks again */
export function postgresWiring(databaseUrl: string, onError: (error: unknown, fields: object) => void): Wiring<PgPool> {
  const { url, options } = splitOptions(databaseUrl)
  const session = [options, SESSION].filter(Boolean).join(' ')
  // BullMQ's declarations of a pool and those of `pg` differ in their overloads of `on`.
  const poolOf = (max: number) =>
    new pg.Pool({ ...CONNECTION, connectionString: url, options: session, max }) as unknown as PgPool
  const pool = createSharedPool(databaseUrl)
  let migrated: Promise<void> | null = null
  let ended: Promise<void> | null = null
  const prepare = () => {
    migrated ??= migrateIfAllowed(databaseUrl).catch((error: unknown) => {
      migrated = null // The next caller tries again.
      throw error
    })
    return migrated
  }
  const look: LookAtQueues = async (queues) => {
    await prepare()
    return lookAtQueues(pool, queues)
  }
  const watch = createQueueWatch(look, onError)

  return {
    factory: (name, settings, { withBlockingConnection = false } = {}) =>
      new WatchedBackend(
        watch,
        new OwnedConnection(settings.connection),
        name,
        settings,
        true,
        withBlockingConnection ? name : undefined,
      ),
    prepare,
    producer: () => poolOf(PRODUCER_CONNECTIONS),
    consumer: (concurrency) => poolOf(Math.min(concurrency + 1, CONSUMER_CONNECTIONS) + 1),
    locks: postgresLocks(pool),
    look,
    pollSeconds: WATCHED_POLL_SECONDS,
    close() {
      watch.stop()
      ended ??= pool.end()
      return ended
    },
  }
}

/** Statements of all queues, one at a time. */
function createSharedPool(databaseUrl: string): pg.Pool {
  const pool = new pg.Pool({ ...CONNECTION, connectionString: databaseUrl, max: 1 })
  pool.on('error', () => undefined) // An idle connection broke: the next statement opens another.
  return pool
}

/** An index answers each question, however many jobs a queue has. */
async function lookAtQueues(pool: pg.Pool, queues: readonly string[]): Promise<ReadonlyMap<string, QueueSight>> {
  const { rows } = await pool.query<{ queue: string; active: boolean; waiting: boolean; due: string | null }>({
    name: 'look_at_queues',
    text: `SELECT * FROM (
             SELECT queue, EXISTS (SELECT FROM ${QUEUE_SCHEMA}.job j WHERE j.queue = q.queue AND state = 'active') AS active,
                    EXISTS (SELECT FROM ${QUEUE_SCHEMA}.job j WHERE j.queue = q.queue AND state = 'waiting') AS waiting,
                    (SELECT min(process_at_ms) FROM ${QUEUE_SCHEMA}.job j WHERE j.queue = q.queue AND state = 'delayed') AS due
               FROM unnest($1::text[]) AS q(queue)) AS sights
            WHERE active OR waiting OR due IS NOT NULL`,
    values: [queues],
  })
  return new Map(
    rows.map(({ queue, active, waiting, due }) => [
      queue,
      { hasActive: active, hasDelayed: due !== null, isReady: waiting || (due !== null && Number(due) <= Date.now()) },
    ]),
  )
}

/** BullMQ records the expiry of a lock by its own machine's clock. */
function postgresLocks(pool: pg.Pool): Locks {
  return {
    async read() {
      const { rows } = await pool.query<{ name: string; until: string }>(
        `SELECT queue || ' ' || id AS name, locked_until_ms::text AS until FROM ${QUEUE_SCHEMA}.job
          WHERE state = 'active' AND locked_until_ms > 0`,
      )
      return new Map(rows.map(({ name, until }) => [name, until]))
    },
    async drop(names) {
      // The time of the last check also comes from such a clock: no check would run until that time is reached again.
      const text = `WITH again AS (DELETE FROM ${QUEUE_SCHEMA}.meta WHERE field = 'stalled-check')
                    UPDATE ${QUEUE_SCHEMA}.job SET locked_until_ms = 0 WHERE state = 'active' AND queue || ' ' || id = ANY ($1)`
      await pool.query(text, [names])
    },
  }
}

/** Processes that start together wait for each other: BullMQ migrates in one transaction under an advisory lock. */
export async function migrateQueues(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, async (client) => void (await runMigrations(client, QUEUE_SCHEMA)))
}

/**
 * A process without the right to create tables uses those of `npm run migrate`, or gets BullMQ's error that they are
 * missing.
 */
async function migrateIfAllowed(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ allowed: boolean }>(
      "SELECT has_database_privilege(current_database(), 'CREATE') AS allowed",
    )
    if (rows[0]?.allowed === true) await runMigrations(client, QUEUE_SCHEMA)
  })
}

async function withClient<T>(databaseUrl: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  client.on('error', () => undefined) // The running statement fails with the same error.
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

/** Session options in the URL would replace those that BullMQ sets for its schema, so both are merged. */
function splitOptions(databaseUrl: string): { url: string; options: string } {
  const found = /([?&])options=([^&]*)(&|$)/.exec(databaseUrl)
  if (found === null) return { url: databaseUrl, options: '' }
  const [text, before, value = '', after] = found
  return { url: databaseUrl.replace(text, after === '&' ? (before ?? '') : ''), options: decodeURIComponent(value) }
}
