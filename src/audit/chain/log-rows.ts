/** Reads the log in its reading order as text, without parsing the columns. */
import type { ClientBase, Pool } from 'pg'
import type { SubscriptionPosition } from '../../event-log/subscription.ts'

/** One event as stored in the table. */
export type LogRow = {
  readonly place: SubscriptionPosition
  readonly streamId: string
  readonly streamVersion: number
  readonly type: string
  readonly schemaVersion: string
  /** JSON as it is stored. */
  readonly data: string
  readonly metadata: string
  /** A timestamp in UTC as PostgreSQL prints it. */
  readonly recordedAt: string
  /** Hex. */
  readonly hash: string
}

/** Runs queries: a pool, or one connection with its own snapshot. */
export type Queryable = Pick<Pool, 'query'> | Pick<ClientBase, 'query'>

/** All streams, or one of several shares of them. */
export type Share = { readonly index: number; readonly of: number }
const ALL_STREAMS: Share = { index: 0, of: 1 }

/** Columns as text: the driver would convert them to dates and buffers. */
const RAW = { getTypeParser: () => (value: string) => value }

const COLUMNS = `transaction_id::text, position::text, stream_id, stream_version::text, type, schema_version::text, data::text, metadata::text,
                 (recorded_at AT TIME ZONE 'UTC')::text, encode(hash, 'hex')`

/** Bytes of events that one page may have besides its first event. A compressed value counts as the most that it can become. */
const PAGE_BYTES = 64 * 1_024 * 1_024
const MOST_COMPRESSION = 256
const sizeOf = (column: string) =>
  `pg_column_size(${column})::float8 * CASE WHEN pg_column_compression(${column}) IS NULL THEN 1 ELSE ${MOST_COMPRESSION} END`

/**
 * The events after a place, oldest first, up to the oldest running transaction: at most `limit`, and fewer of long ones,
 * but at least one if there is one.
 *
 * @param share reads only one of several shares of the streams
 */
export async function readLogRows(
  database: Queryable,
  after: SubscriptionPosition,
  limit: number,
  share: Share = ALL_STREAMS,
): Promise<LogRow[]> {
  const { rows } = await database.query({
    // For an equality the planner expects few rows, and a batch then takes the database four times as long. For a CASE
    // it expects half of them.
    text: `SELECT ${COLUMNS} FROM (
             SELECT sized.*, sum(${sizeOf('data')} + ${sizeOf('metadata')}) OVER (ORDER BY transaction_id, position
                             ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before FROM (
            SELECT * FROM events
            WHERE (transaction_id, position) > ($1::xid8, $2::bigint) AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())
              ${share.of === 1 ? '' : `AND CASE WHEN (hashtext(stream_id) & 2147483647) % ${share.of} = ${share.index} THEN true ELSE false END`}
            ORDER BY events.transaction_id, events.position LIMIT ${limit}) AS sized) AS events
            WHERE coalesce(bytes_before, 0) < ${PAGE_BYTES} ORDER BY events.transaction_id, events.position`,
    name: `audit_log_rows_${limit}_${share.index}_${share.of}`,
    values: [after.transactionId.toString(), after.position.toString()],
    rowMode: 'array',
    types: RAW,
  } as never)
  return (rows as unknown as Columns[]).map(toLogRow)
}

/** One event by its stream and version. */
export async function readLogRow(database: Queryable, streamId: string, version: number): Promise<LogRow | undefined> {
  const { rows } = await database.query({
    text: `SELECT ${COLUMNS} FROM events WHERE stream_id = $1 AND stream_version = $2`,
    name: 'audit_log_row',
    values: [streamId, version],
    rowMode: 'array',
    types: RAW,
  } as never)
  const [row] = rows as unknown as Columns[]
  return row === undefined ? undefined : toLogRow(row)
}

type Columns = [string, string, string, string, string, string, string, string, string, string]

function toLogRow(row: Columns): LogRow {
  const [transactionId, position, streamId, version, type, schemaVersion, data, metadata, recordedAt, hash] = row
  return {
    place: { transactionId: BigInt(transactionId), position: BigInt(position) },
    streamId,
    streamVersion: Number(version),
    type,
    schemaVersion,
    data,
    metadata,
    recordedAt,
    hash,
  }
}
