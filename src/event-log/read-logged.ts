/**
 * Reads the log in reading order for readers outside of Bursar, with each event's tenant and environment. As in a
 * subscription, only events older than every running transaction that writes are read: no event appears behind a reader.
 */
import type { Pool } from 'pg'
import type { EventName } from '../core/event-ids.ts'
import type { Environment } from '../core/networks.ts'
import { DATABASE_EPOCH } from './database-epoch.ts'
import type { EventRow } from './rows.ts'
import { LOG_START, type SubscriptionPosition } from './subscription.ts'
import type { OrNull } from './table-rows.ts'

/** An event without its data. */
export type LoggedEvent = EventName & {
  readonly place: SubscriptionPosition
  readonly type: string
  readonly tenantId: string
  readonly environment: Environment
  /** ISO 8601 UTC with milliseconds. */
  readonly recordedAt: string
}

/** Whose events are read. */
export type LogOwner = { readonly tenantId: string; readonly environment: Environment }

/** Part of a stream, by versions. */
export type StreamRange = { readonly streamId: string; readonly from: number; readonly to: number }

export type LoggedRow = Pick<
  EventRow,
  'transaction_id' | 'position' | 'stream_id' | 'stream_version' | 'type' | 'recorded_at'
> & {
  readonly tenant_id: string
  readonly environment: Environment
}

export const COLUMNS = `transaction_id::text, position, stream_id, stream_version, type, recorded_at, environment, metadata->>'tenantId' AS tenant_id`
const NO_TIME = '1970-01-01T00:00:00.000Z'
const READABLE = 'transaction_id < pg_snapshot_xmin(pg_current_snapshot())'

/** The next events of one tenant in one environment. */
export async function readTenantLog(
  pool: Pool,
  { tenantId, environment }: LogOwner,
  after: SubscriptionPosition,
  limit: number,
): Promise<LoggedEvent[]> {
  const { rows } = await pool.query<LoggedRow>({
    name: 'read_tenant_log',
    text: `SELECT ${COLUMNS} FROM events
            WHERE metadata->>'tenantId' = $1 AND environment = $2 AND (transaction_id, position) > ($3::xid8, $4::bigint) AND ${READABLE}
            ORDER BY events.transaction_id, position LIMIT $5`,
    values: [tenantId, environment, after.transactionId.toString(), after.position.toString(), limit],
  })
  return rows.map(toLogged)
}

/** Which events of a tenant are read: all bounds count, and `null` is none. */
export type LogRange = {
  readonly after: SubscriptionPosition
  /** The last place that is read. */
  readonly until: SubscriptionPosition
  /** Recorded at this time or later. */
  readonly from: Date | null
  /** Recorded before this time. */
  readonly to: Date | null
}

/** Events outside of a range of time that one statement reads past. */
const READ_PAST = 10_000

/**
 * The next events of one tenant in one environment within a range, and the place up to which the log was read for them.
 * Times of events may be out of order in the log by what the clocks of processes differ; so each event is looked at, in the database.
 *
 * @returns undefined when no event of the tenant can be read after `after`
 */
export async function readTenantRange(
  pool: Pool,
  { tenantId, environment }: LogOwner,
  { after, until, from, to }: LogRange,
  limit: number,
): Promise<{ readonly events: readonly LoggedEvent[]; readonly place: SubscriptionPosition } | undefined> {
  const owned = `metadata->>'tenantId' = $1 AND environment = $2 AND (transaction_id, position) > ($3::xid8, $4::bigint)`
  type RangeRow = OrNull<LoggedRow> & { readonly last_transaction_id: string; readonly last_position: string }
  const { rows } = await pool.query<RangeRow>({
    name: 'read_tenant_range',
    text: `WITH last AS MATERIALIZED (SELECT * FROM (
               SELECT transaction_id, position FROM events
                WHERE ${owned} AND (transaction_id, position) <= ($5::xid8, $6::bigint) AND ${READABLE}
                ORDER BY events.transaction_id, position LIMIT $7) AS read ORDER BY transaction_id DESC, position DESC LIMIT 1)
           SELECT last.transaction_id::text AS last_transaction_id, last.position AS last_position, e.*
             FROM last LEFT JOIN LATERAL (
               SELECT ${COLUMNS} FROM events
                WHERE ${owned} AND (events.transaction_id, events.position) <= (last.transaction_id, last.position)
                  AND ($8::timestamptz IS NULL OR recorded_at >= $8) AND ($9::timestamptz IS NULL OR recorded_at < $9)
                ORDER BY events.transaction_id, events.position LIMIT $10) AS e ON true`,
    values: [
      tenantId,
      environment,
      after.transactionId.toString(),
      after.position.toString(),
      until.transactionId.toString(),
      until.position.toString(),
      from === null && to === null ? limit : READ_PAST,
      from,
      to,
      limit,
    ],
  })
  const [first] = rows
  if (first === undefined) return undefined
  const events = rows.flatMap((row) => (row.stream_id === null ? [] : [toLogged(row as LoggedRow)]))
  const last = placeOf({ transaction_id: first.last_transaction_id, position: first.last_position })
  return { events, place: events.length < limit ? last : (events.at(-1)?.place ?? last) }
}

/** The newest event of the owner that can be read; undefined if there is none. One look-up in an index. */
export async function readTenantEnd(pool: Pool, { tenantId, environment }: LogOwner): Promise<LoggedEvent | undefined> {
  const { rows } = await pool.query<LoggedRow>({
    name: 'read_tenant_end',
    text: `SELECT ${COLUMNS} FROM events WHERE metadata->>'tenantId' = $1 AND environment = $2 AND ${READABLE}
            ORDER BY events.transaction_id DESC, position DESC LIMIT 1`,
    values: [tenantId, environment],
  })
  const [row] = rows
  return row && toLogged(row)
}

/** The next events of every tenant, and the epoch of the database: in another one, places mean other events. */
export async function readWholeLog(
  pool: Pool,
  after: SubscriptionPosition,
  limit: number,
): Promise<{ readonly epoch: string; readonly events: readonly LoggedEvent[] }> {
  const { rows } = await pool.query<{ readonly epoch: string } & OrNull<LoggedRow>>({
    name: 'read_whole_log',
    // One row without an event if there is none: the epoch is needed anyway.
    text: `SELECT now.epoch, e.* FROM (SELECT ${DATABASE_EPOCH} AS epoch) AS now LEFT JOIN LATERAL (
             SELECT ${COLUMNS} FROM events WHERE (transaction_id, position) > ($1::xid8, $2::bigint) AND ${READABLE}
              ORDER BY events.transaction_id, position LIMIT $3) AS e ON true`,
    values: [after.transactionId.toString(), after.position.toString(), limit],
  })
  const events = rows.flatMap((row) => (row.stream_id === null ? [] : [toLogged(row as LoggedRow)]))
  return { epoch: rows[0]?.epoch ?? '', events }
}

/** The place of the newest event that can be read, and the epoch of the database. */
export async function readLogEnd(
  pool: Pool,
): Promise<{ readonly epoch: string; readonly place: SubscriptionPosition }> {
  const { rows } = await pool.query<{ readonly epoch: string } & OrNull<Pick<EventRow, 'transaction_id' | 'position'>>>(
    {
      name: 'read_log_end',
      text: `SELECT now.epoch, e.* FROM (SELECT ${DATABASE_EPOCH} AS epoch) AS now LEFT JOIN LATERAL (
             SELECT transaction_id::text, position FROM events WHERE ${READABLE}
              ORDER BY events.transaction_id DESC, position DESC LIMIT 1) AS e ON true`,
    },
  )
  const [row] = rows
  const { transaction_id, position } = row ?? { transaction_id: null, position: null }
  return {
    epoch: row?.epoch ?? '',
    place: transaction_id === null || position === null ? LOG_START : placeOf({ transaction_id, position }),
  }
}

/** An event of the owner with its place; undefined if the owner has no such event. */
export async function findLogged(
  pool: Pool,
  { tenantId, environment }: LogOwner,
  { streamId, streamVersion }: EventName,
): Promise<LoggedEvent | undefined> {
  const { rows } = await pool.query<LoggedRow>({
    name: 'find_logged',
    text: `SELECT ${COLUMNS} FROM events
            WHERE stream_id = $1 AND stream_version = $2 AND metadata->>'tenantId' = $3 AND environment = $4`,
    values: [streamId, streamVersion, tenantId, environment],
  })
  const [row] = rows
  return row && toLogged(row)
}

/** Events by their names, in any order. Those that the log does not have are missing. */
export async function readLogged(pool: Pool, names: readonly EventName[]): Promise<LoggedEvent[]> {
  if (names.length === 0) return []
  const { rows } = await pool.query<LoggedRow>({
    name: 'read_logged',
    text: `SELECT ${COLUMNS} FROM events
            WHERE (stream_id, stream_version) IN (SELECT * FROM unnest($1::text[], $2::integer[]))`,
    values: [names.map(({ streamId }) => streamId), names.map(({ streamVersion }) => streamVersion)],
  })
  return rows.map(toLogged)
}

const RANGE_COLUMNS = [
  ...(['stream_id', 'stream_version', 'type', 'schema_version', 'data', 'recorded_at', 'hash'] as const),
  ...(['transaction_id', 'position'] as const),
] as const

export type RangeRow = Pick<EventRow, (typeof RANGE_COLUMNS)[number]>

/**
 * Parts of streams with their data, each in the order of versions.
 *
 * @param mostOfEach a range may be far longer than its events: versions can have gaps
 */
export async function readRanges(pool: Pool, ranges: readonly StreamRange[], mostOfEach: number): Promise<RangeRow[]> {
  if (ranges.length === 0) return []
  const { rows } = await pool.query<RangeRow>({
    name: 'read_stream_ranges',
    // LATERAL with OFFSET: one index lookup for each stream, as in `load_streams`.
    text: `SELECT e.* FROM unnest($1::text[], $2::integer[], $3::integer[]) AS wanted(id, first, last) CROSS JOIN LATERAL
             (SELECT ${RANGE_COLUMNS} FROM events WHERE stream_id = wanted.id AND stream_version BETWEEN wanted.first AND wanted.last
               ORDER BY stream_version LIMIT $4 OFFSET 0) AS e`,
    values: [
      ranges.map(({ streamId }) => streamId),
      ranges.map(({ from }) => from),
      ranges.map(({ to }) => to),
      mostOfEach,
    ],
  })
  return rows
}

export function placeOf(row: Pick<EventRow, 'transaction_id' | 'position'>): SubscriptionPosition {
  return { transactionId: BigInt(row.transaction_id), position: BigInt(row.position) }
}

export function toLogged(row: LoggedRow): LoggedEvent {
  const { stream_id: streamId, stream_version: streamVersion, type, tenant_id: tenantId, environment } = row
  return {
    streamId,
    streamVersion,
    type,
    tenantId,
    environment,
    place: placeOf(row),
    // A time that JavaScript does not have is of an event that nobody appended through Bursar.
    recordedAt: row.recorded_at instanceof Date ? row.recorded_at.toISOString() : NO_TIME,
  }
}
