/**
 * Reads the log stream by stream, each from its first event, from one snapshot, so that one stream can be processed
 * before the next begins.
 *
 * Invariant: the reading session holds no transaction id, so no subscription waits for it, however long it reads.
 */
import type { Client } from 'pg'
import { NotFound } from '../core/errors.ts'
import { EVENT_COLUMNS, type EventRow, STORED_TEXTS } from './rows.ts'
import type { SubscriptionPosition } from './subscription.ts'

/** Events in one fetch: a few megabytes. */
const BATCH_SIZE = 2_000

export type StreamEvent = EventRow & {
  /** False for events that an earlier snapshot already had. */
  readonly fresh: boolean
}

export type StreamFilter = {
  /** Up to and including this place in the reading order. */
  readonly upTo?: SubscriptionPosition
  readonly streamId?: string
  /** Only streams that grew since this snapshot. */
  readonly since?: string
}

/**
 * Begins a transaction whose statements all see the log and the tables as of now. Returns the snapshot's name.
 *
 * @param tables tables to read later: no rebuild replaces them while the transaction lasts
 */
export async function beginSnapshot(reader: Client, tables: readonly string[] = []): Promise<string> {
  await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  // Before the first query, which takes the snapshot.
  if (tables.length > 0) await reader.query(`LOCK TABLE ${tables.join(', ')} IN ACCESS SHARE MODE`)
  const { rows } = await reader.query<{ snapshot: string }>('SELECT pg_current_snapshot()::text AS snapshot')
  return rows[0]?.snapshot ?? ''
}

/** The number of events that match a filter. */
export async function countEvents(reader: Client, filter: StreamFilter): Promise<number> {
  const { rows } = await reader.query<{ events: string }>(
    `SELECT count(*) AS events FROM events AS e WHERE ${CONDITION}`,
    conditionValues(filter),
  )
  return Number(rows[0]?.events)
}

const CONDITION = `($1::text IS NULL OR e.stream_id = $1)
  AND ($2::text IS NULL OR (e.transaction_id, e.position) <= ($2::xid8, $3::bigint))`

function conditionValues({ streamId, upTo }: StreamFilter): (string | null)[] {
  return [streamId ?? null, upTo?.transactionId.toString() ?? null, upTo?.position.toString() ?? null]
}

const COLUMNS = EVENT_COLUMNS.split(', ')
  .map((column) => `e.${column}`)
  .join(', ')

const WHOLE = `SELECT ${COLUMNS}, true AS fresh FROM events AS e WHERE ${CONDITION} ORDER BY e.stream_id, e.stream_version`

/**
 * Only transactions that the older snapshot had not seen can have extended a stream. LATERAL: one index lookup for each
 * stream.
 */
const GROWN = `SELECT ${COLUMNS}, NOT pg_visible_in_snapshot(e.transaction_id, $1::pg_snapshot) AS fresh
  FROM (SELECT DISTINCT n.stream_id FROM events AS n
         WHERE n.transaction_id >= pg_snapshot_xmin($1::pg_snapshot) AND NOT pg_visible_in_snapshot(n.transaction_id, $1::pg_snapshot)) AS grown
 CROSS JOIN LATERAL (SELECT * FROM events AS s WHERE s.stream_id = grown.stream_id ORDER BY s.stream_version OFFSET 0) AS e
 ORDER BY e.stream_id, e.stream_version`

/** @param reader in its own transaction, which the caller ends */
export async function* readStreams(reader: Client, filter: StreamFilter): AsyncGenerator<readonly StreamEvent[]> {
  const { since } = filter
  const query = since === undefined ? WHOLE : GROWN
  await reader.query(
    `DECLARE log_by_stream NO SCROLL CURSOR FOR ${query}`,
    since === undefined ? conditionValues(filter) : [since],
  )
  const fetch = () => {
    const fetched = reader.query<StreamEvent>({ text: `FETCH ${BATCH_SIZE} FROM log_by_stream`, types: STORED_TEXTS })
    fetched.catch(() => undefined) // Awaited below, possibly much later.
    return fetched
  }
  // Fetches one batch ahead: the database works while this process does.
  for (let next = fetch(); ; ) {
    const { rows } = await next
    if (rows.length === 0) break
    next = fetch()
    yield rows
  }
  await reader.query('CLOSE log_by_stream')
}

/**
 * The transaction that wrote an event; with the position, it gives its place in the reading order. @throws NotFound
 * `unknown_position`
 */
export async function transactionOf(reader: Client, position: bigint): Promise<bigint> {
  const { rows } = await reader.query<Pick<EventRow, 'transaction_id'>>(
    'SELECT transaction_id::text FROM events WHERE position = $1::text::numeric',
    [position.toString()],
  )
  const [row] = rows
  if (row !== undefined) return BigInt(row.transaction_id)
  const { rows: ends } = await reader.query<{ last: string | null }>('SELECT max(position) AS last FROM events')
  const last = ends[0]?.last
  const rule = last ? `positions go up to ${last}, with gaps` : 'the log is empty'
  throw new NotFound('position', 'unknown_position', `No event has the position ${position}: ${rule}.`)
}
