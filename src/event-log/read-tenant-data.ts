/**
 * Reads the events of one tenant in one environment with their data, for whoever folds what happened: page by page in reading order,
 * and only those of the types that are wanted.
 */
import type { Pool } from 'pg'
import type { Metadata } from '../core/messages.ts'
import { type LogOwner, placeOf } from './read-logged.ts'
import type { LogPart } from './read-part.ts'
import type { EventRow } from './rows.ts'
import { LOG_START, placeBefore, type SubscriptionPosition } from './subscription.ts'
import type { OrNull } from './table-rows.ts'

/** `actor`: who asked for it, from its metadata. */
export type DataEvent = Pick<EventRow, 'type' | 'data'> & {
  readonly streamId: string
  readonly schemaVersion: number
  readonly actor: Metadata['actor']
  /** ISO 8601 UTC with milliseconds. */
  readonly recordedAt: string
}

export type DataPage = {
  readonly events: readonly DataEvent[]
  /** Where the next page begins. */
  readonly place: SubscriptionPosition
  /** Events that were looked at. */
  readonly read: number
}

export type DataRead = {
  readonly types: readonly string[]
  /** Those whose data are needed: those of others are `null`. */
  readonly dataOf: readonly string[]
  /** Whether only events are read behind which none can appear any more. Without it: all that is committed when it is read. */
  readonly isGapless: boolean
}

const OWNED = `metadata->>'tenantId' = $1 AND environment = $2`
const READABLE = 'transaction_id < pg_snapshot_xmin(pg_current_snapshot())'
const COLUMNS = `stream_id, type, schema_version, metadata->>'actor' AS actor, recorded_at`

type DataRow = Pick<EventRow, 'stream_id' | 'type' | 'schema_version' | 'data' | 'recorded_at'> & {
  readonly actor: string
}

/**
 * The next page after a place, up to another one.
 *
 * @param most events that are looked at, of whatever type
 * @returns undefined when no event can be read after `after`
 */
export async function readTenantData(
  pool: Pool,
  { tenantId, environment }: LogOwner,
  { after, until, types, dataOf, isGapless }: LogPart & DataRead,
  most: number,
): Promise<DataPage | undefined> {
  type PageRow = OrNull<DataRow> & {
    readonly last_transaction_id: string
    readonly last_position: string
    readonly read: string
  }
  const part = `${OWNED} AND (transaction_id, position) > ($3::xid8, $4::bigint)`
  const readable = isGapless ? `AND ${READABLE}` : ''
  const { rows } = await pool.query<PageRow>({
    name: isGapless ? 'read_tenant_data' : 'read_tenant_data_committed',
    // The end of the page first: the data of other types are not fetched from their rows.
    text: `WITH page AS MATERIALIZED (SELECT transaction_id, position, count(*) OVER () AS read FROM (
               SELECT transaction_id, position FROM events
                WHERE ${part} AND (transaction_id, position) <= ($5::xid8, $6::bigint) ${readable}
                ORDER BY events.transaction_id, position LIMIT $7) AS looked ORDER BY transaction_id DESC, position DESC LIMIT 1)
           SELECT page.transaction_id::text AS last_transaction_id, page.position AS last_position, page.read, e.*
             FROM page LEFT JOIN LATERAL (
               SELECT ${COLUMNS}, CASE WHEN type = ANY ($9::text[]) THEN data END AS data FROM events
                WHERE ${part} AND (events.transaction_id, events.position) <= (page.transaction_id, page.position) AND type = ANY ($8::text[])
                ORDER BY events.transaction_id, events.position) AS e ON true`,
    values: [tenantId, environment, ...placesOf({ after, until }), most, types, dataOf],
  })
  const [first] = rows
  if (first === undefined) return undefined
  const place = placeOf({ transaction_id: first.last_transaction_id, position: first.last_position })
  return {
    events: rows.flatMap((row) => (row.stream_id === null ? [] : [toData(row as DataRow)])),
    place,
    read: Number(first.read),
  }
}

/** As the index `events_by_type` has it. */
const KEY = `hashtextextended((metadata->>'tenantId') || ' ' || environment || ' ' || type, 0)`

/** The next events of a few types, without those between them, and the place behind them; `null` at the end of the part. */
export async function readTenantDataOfTypes(
  pool: Pool,
  { tenantId, environment }: LogOwner,
  { after, until, types }: LogPart & Pick<DataRead, 'types'>,
  most: number,
): Promise<{ readonly events: readonly DataEvent[]; readonly next: SubscriptionPosition | null }> {
  const { rows } = await pool.query<DataRow & Pick<EventRow, 'transaction_id' | 'position'>>({
    name: 'read_tenant_data_of_types',
    // As `readTenantTypes`: one range of the index for each type.
    text: `SELECT transaction_id::text, position, ${COLUMNS}, data FROM unnest($8::text[]) AS wanted(wanted_type)
            CROSS JOIN LATERAL (SELECT hashtextextended($1::text || ' ' || $2::text || ' ' || wanted_type, 0) AS key OFFSET 0) AS of
            CROSS JOIN LATERAL (SELECT * FROM events
                                 WHERE (${KEY}, transaction_id, position) > (of.key, $3::xid8, $4::bigint)
                                   AND (${KEY}, transaction_id, position) <= (of.key, $5::xid8, $6::bigint)
                                   AND ${OWNED} AND type = wanted_type
                                 ORDER BY ${KEY}, events.transaction_id, position LIMIT $7) AS events
            ORDER BY events.transaction_id, events.position LIMIT $7`,
    values: [tenantId, environment, ...placesOf({ after, until }), most, types],
  })
  const last = rows.at(-1)
  return { events: rows.map(toData), next: last === undefined || rows.length < most ? null : placeOf(last) }
}

/**
 * A place such that the events after it include all that were recorded at a time or later, as far as clocks of processes agree: the
 * log is in the order of commits, and is searched by halves as if their times were in order.
 */
export async function findPlaceAt(pool: Pool, owner: LogOwner, at: Date): Promise<SubscriptionPosition> {
  const first = await firstFrom(pool, owner, 0n)
  if (first === undefined || first.recordedAt >= at) return LOG_START
  let [low, high] = [first.transactionId, (await findNewestPlace(pool, owner)).transactionId + 1n]
  while (low < high) {
    const middle = (low + high) / 2n
    const found = await firstFrom(pool, owner, middle)
    if (found === undefined || found.recordedAt >= at) high = middle
    else low = found.transactionId + 1n
  }
  return placeBefore({ transactionId: low, position: 0n })
}

/** The place of the newest event of the owner that is committed, whether all can read it or not. */
export async function findNewestPlace(pool: Pool, { tenantId, environment }: LogOwner): Promise<SubscriptionPosition> {
  const { rows } = await pool.query<Pick<EventRow, 'transaction_id' | 'position'>>({
    name: 'newest_of_tenant',
    text: `SELECT transaction_id::text, position FROM events WHERE ${OWNED} ORDER BY events.transaction_id DESC, position DESC LIMIT 1`,
    values: [tenantId, environment],
  })
  const [newest] = rows
  return newest === undefined ? LOG_START : placeOf(newest)
}

async function firstFrom(pool: Pool, { tenantId, environment }: LogOwner, transactionId: bigint) {
  const { rows } = await pool.query<Pick<EventRow, 'transaction_id' | 'recorded_at'>>({
    name: 'first_of_tenant_from',
    text: `SELECT transaction_id::text, recorded_at FROM events
            WHERE ${OWNED} AND (transaction_id, position) > ($3::xid8, -1) ORDER BY events.transaction_id, position LIMIT 1`,
    values: [tenantId, environment, transactionId.toString()],
  })
  const [row] = rows
  return row && { transactionId: BigInt(row.transaction_id), recordedAt: row.recorded_at }
}

function placesOf({ after, until }: LogPart): readonly string[] {
  return [after, until].flatMap(({ transactionId, position }) => [transactionId.toString(), position.toString()])
}

function toData(row: DataRow): DataEvent {
  const { stream_id: streamId, type, schema_version: schemaVersion, data, actor } = row
  return { streamId, type, schemaVersion, data, actor, recordedAt: row.recorded_at.toISOString() }
}
