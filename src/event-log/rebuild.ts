/**
 * Rebuilds read models beside the live ones while the service runs, then swaps them. Readers and writers see the old
 * table until one commit and the new one after it; they wait only for that commit.
 *
 * Invariant: nothing uses the schema `bursar_rebuild`. After a kill at any moment each live table is complete, old or
 * new, and the next rebuild first drops the leftovers.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Client, Pool } from 'pg'
import { Conflict, Unavailable } from '../core/errors.ts'
import type { ReadModel } from '../core/registry.ts'
import { createFold, type HeldStream, type LogContents } from './fold.ts'
import { IDLE_IN_TRANSACTION_MS } from './open-transactions.ts'
import { beginSnapshot, countEvents, readStreams, type StreamFilter } from './read-streams.ts'
import { foldInto, namesOf } from './replay.ts'
import { requireOwner, withSessions } from './session.ts'
import { readSetAside } from './set-aside.ts'
import { createShadow, nameIn, type Shadow } from './shadow.ts'
import { type KeyColumn, liveSchema, quoted, readPrimaryKeys, readShape, type TableShape } from './table-shape.ts'

export const REBUILD_SCHEMA = 'bursar_rebuild'
/** Any number that no other code takes an advisory lock on. */
const REBUILD_LOCK = 4_117_005
/** After a round with at most this many events, another round before the lock saves nothing. */
const FEW_EVENTS = 500
const MAX_ROUNDS = 20
/** Others wait behind this lock no longer than this; well below the 1 s after which PostgreSQL looks for deadlocks. */
const LOCK_TIMEOUT = '250ms'
const LOCK_TRIES = 100
const LOCK_PAUSE_MS = 100
const LOCK_NOT_AVAILABLE = '55P03'

export type Rebuilt = {
  readonly events: number
  readonly streams: number
  /** Events appended meanwhile that are in the new tables too. */
  readonly caughtUp: number
  readonly rows: Readonly<Partial<Record<ReadModel, number>>>
  /** The longest time that a table was locked, in milliseconds. */
  readonly longestSwapMs: number
  /** The first streams that end before an event that cannot be read: their rows are those before it. */
  readonly held: readonly HeldStream[]
  readonly heldStreams: number
}

type Rebuilding = {
  readonly reader: Client
  readonly writer: Client
  readonly live: string
  readonly contents: LogContents
  readonly primaryKeys: ReadonlyMap<string, readonly KeyColumn[]>
  readonly shadow: Shadow
  /** The snapshot that the shadow covers. */
  since: string
  caughtUp: number
}

/**
 * @throws Conflict `owner_required`, `rebuild_running`, `schema_changed`; Unavailable `table_busy` when a session keeps
 *   reading a table. Tables swapped before the error stay swapped and are correct.
 */
export async function rebuild(
  pool: Pool,
  contents: LogContents,
  settings: {
    readonly tables: readonly ReadModel[]
    readonly onProgress?: (events: number, total: number) => void
    /** How often a lock on a table is tried; its readers continue between tries. */
    readonly lockTries?: number
  },
): Promise<Rebuilt> {
  return withSessions(pool, ['rebuild-reader', 'rebuild-writer'], async (reader, writer) => {
    await requireOwner(writer)
    await takeTurn(writer)
    const live = await liveSchema(writer)
    await writer.query(`DROP SCHEMA IF EXISTS ${REBUILD_SCHEMA} CASCADE`)
    await writer.query(`CREATE SCHEMA ${REBUILD_SCHEMA}`)
    try {
      return await rebuildBeside({ reader, writer, live, contents }, settings)
    } finally {
      await writer.query('ROLLBACK')
      await writer.query(`DROP SCHEMA IF EXISTS ${REBUILD_SCHEMA} CASCADE`)
    }
  })
}

async function takeTurn(writer: Client): Promise<void> {
  const { rows } = await writer.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [REBUILD_LOCK])
  if (rows[0]?.taken !== true)
    throw new Conflict('rebuild_running', 'Another rebuild is running: wait until it has ended.')
}

async function rebuildBeside(
  ports: Pick<Rebuilding, 'reader' | 'writer' | 'live' | 'contents'>,
  { tables, onProgress, lockTries = LOCK_TRIES }: Parameters<typeof rebuild>[2],
): Promise<Rebuilt> {
  const { reader, writer, live, contents } = ports
  const { aggregates, readModels } = contents
  const primaryKeys = await readPrimaryKeys(writer, live)
  const shapes = new Map<ReadModel, TableShape>()
  for (const table of tables) shapes.set(table, await readShape(writer, live, table))
  const shadow = await createShadow({ writer, live, schema: REBUILD_SCHEMA, tables, readModels, primaryKeys })

  const since = await beginSnapshot(reader)
  const total = await countEvents(reader, {})
  const setAside = await readSetAside(reader)
  const fold = createFold({ aggregates, primaryKeys: namesOf(primaryKeys), setAside })
  const folded = await foldInto(shadow, readStreams(reader, {}), fold, (done) => onProgress?.(done, total))
  await shadow.fill()
  await reader.query('ROLLBACK')

  for (const [table, shape] of shapes) await finishTable(writer, table, shape)
  const work: Rebuilding = { ...ports, primaryKeys, shadow, since, caughtUp: 0 }
  for (let round = 1; round <= MAX_ROUNDS; round += 1) if ((await catchUp(work)) < FEW_EVENTS) break
  const rows: Partial<Record<ReadModel, number>> = {}
  let longestSwapMs = 0
  for (const [table, shape] of shapes) {
    longestSwapMs = Math.max(longestSwapMs, await swap(work, table, shape, lockTries))
    const counted = await writer.query<{ n: string }>(`SELECT count(*) AS n FROM ${nameIn(live, table)}`)
    rows[table] = Number(counted.rows[0]?.n)
  }
  const { events, streams, held, heldStreams } = folded
  return { events, streams, caughtUp: work.caughtUp, rows, longestSwapMs, held, heldStreams }
}

/** Creates the live table's keys, indexes, storage parameters and grants, and collects statistics for the planner. */
async function finishTable(writer: Client, table: ReadModel, shape: TableShape): Promise<void> {
  const { indexes, parameters, grants } = shape
  for (const statements of [indexes, parameters, grants])
    for (const statement of statements(REBUILD_SCHEMA)) await writer.query(statement)
  await writer.query(`ANALYZE ${nameIn(REBUILD_SCHEMA, table)}`)
}

/** Brings the shadow up to date. Returns how many events of grown streams it read. */
async function catchUp(work: Rebuilding): Promise<number> {
  const { reader, contents, primaryKeys, shadow } = work
  const snapshot = await beginSnapshot(reader)
  const filter: StreamFilter = { since: work.since }
  const setAside = await readSetAside(reader)
  const fold = createFold({ aggregates: contents.aggregates, primaryKeys: namesOf(primaryKeys), setAside })
  let fresh = 0
  const batches = (async function* counted() {
    for await (const batch of readStreams(reader, filter)) {
      fresh += batch.filter((event) => event.fresh).length
      yield batch
    }
  })()
  const { events } = await foldInto(shadow, batches, fold, () => undefined)
  await shadow.merge()
  await reader.query('ROLLBACK')
  work.since = snapshot
  work.caughtUp += fresh
  return events
}

/** Replaces the old table with the new one in one commit. Returns how long it was locked. */
async function swap(work: Rebuilding, table: ReadModel, shape: TableShape, lockTries: number): Promise<number> {
  const { writer, live, shadow } = work
  for (let tries = 1; !(await tryLock(writer, nameIn(live, table))); tries += 1) {
    if (tries === lockTries) {
      const message = `A long database transaction blocks the swap of the table ${table}: find it in pg_stat_activity, then rebuild the table again.`
      throw new Unavailable('table_busy', message)
    }
    await delay(LOCK_PAUSE_MS)
    await catchUp(work)
  }
  const lockedAt = performance.now()
  // From here on no append that writes this table can commit: its events are visible now, or follow after the swap with
  // their rows.
  await catchUp(work)
  const { digest } = await readShape(writer, live, table)
  if (digest !== shape.digest) {
    throw new Conflict('schema_changed', `A migration changed the table ${table} during the rebuild: rebuild it again.`)
  }
  shadow.release(table)
  await writer.query(`DROP TABLE ${nameIn(live, table)}`)
  await writer.query(`ALTER TABLE ${nameIn(REBUILD_SCHEMA, table)} SET SCHEMA ${quoted(live)}`)
  await writer.query('COMMIT')
  return performance.now() - lockedAt
}

/** Leaves the session in a transaction that holds the lock, or in none. */
async function tryLock(writer: Client, table: string): Promise<boolean> {
  await writer.query('BEGIN')
  await writer.query(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`)
  // All others wait for this session: a stalled process must not block them.
  await writer.query(`SET LOCAL idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}`)
  await writer.query('SET LOCAL synchronous_commit TO DEFAULT; SELECT be_durable()')
  try {
    await writer.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
    await writer.query('SET LOCAL lock_timeout = 0')
    return true
  } catch (error) {
    await writer.query('ROLLBACK')
    if ((error as { readonly code?: string }).code !== LOCK_NOT_AVAILABLE) throw error
    return false
  }
}
