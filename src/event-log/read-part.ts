/**
 * Reads the events of one tenant that a reader wants of a part of the log, without those between them: by type, or by stream. In
 * reading order, as in read-logged.ts.
 */
import type { Pool } from 'pg'
import { COLUMNS, type LoggedEvent, type LoggedRow, type LogOwner, type LogRange, toLogged } from './read-logged.ts'

/** After one place, up to another one, both of events that can be read. */
export type LogPart = Pick<LogRange, 'after' | 'until'>

/** As the index `events_by_type` has it. */
const KEY = `hashtextextended((metadata->>'tenantId') || ' ' || environment || ' ' || type, 0)`
const OWNED = `metadata->>'tenantId' = $1 AND environment = $2`
const IN_PART = `(transaction_id, position) > ($3::xid8, $4::bigint) AND (transaction_id, position) <= ($5::xid8, $6::bigint)`
const IN_ORDER = 'ORDER BY events.transaction_id, events.position'
const UNCAST = COLUMNS.replace('transaction_id::text', 'transaction_id')

function partValues({ tenantId, environment }: LogOwner, { after, until }: LogPart): unknown[] {
  const places = [after, until].flatMap(({ transactionId, position }) => [
    transactionId.toString(),
    position.toString(),
  ])
  return [tenantId, environment, ...places]
}

/** The next events of one tenant in one environment that have one of these types. Others are not read. */
export async function readTenantTypes(
  pool: Pool,
  owner: LogOwner,
  { types, ...part }: LogPart & { readonly types: readonly string[] },
  limit: number,
): Promise<LoggedEvent[]> {
  if (types.length === 0) return []
  const { rows } = await pool.query<LoggedRow>({
    name: 'read_tenant_types',
    // All three columns of the index are compared and ordered by, although the first is the same: so no other index will do. Where
    // the events of a type stand in the log, the planner cannot know.
    text: `SELECT events.* FROM unnest($8::text[]) AS wanted(type)
            CROSS JOIN LATERAL (SELECT hashtextextended($1::text || ' ' || $2::text || ' ' || wanted.type, 0) AS key OFFSET 0) AS of
            CROSS JOIN LATERAL (SELECT ${UNCAST} FROM events
                                 WHERE (${KEY}, transaction_id, position) > (of.key, $3::xid8, $4::bigint)
                                   AND (${KEY}, transaction_id, position) <= (of.key, $5::xid8, $6::bigint)
                                   AND ${OWNED} AND type = wanted.type
                                 ORDER BY ${KEY}, events.transaction_id, position LIMIT $7) AS events
            ${IN_ORDER} LIMIT $7`,
    values: [...partValues(owner, part), limit, types],
  })
  return rows.map(toLogged)
}

/**
 * The next events of some streams, those of another owner left out. The version that each begins at is searched by halves: in a
 * stream, the order of versions is the reading order.
 */
export async function readTenantStreams(
  pool: Pool,
  owner: LogOwner,
  { streamIds, ...part }: LogPart & { readonly streamIds: readonly string[] },
  limit: number,
): Promise<LoggedEvent[]> {
  if (streamIds.length === 0) return []
  const { rows } = await pool.query<LoggedRow>({
    name: 'read_tenant_streams',
    text: `SELECT events.* FROM unnest($8::text[]) AS wanted(id)
             CROSS JOIN LATERAL (SELECT * FROM (SELECT stream_version, metadata, environment FROM events WHERE stream_id = wanted.id
                                  ORDER BY stream_version DESC LIMIT 1) AS newest WHERE ${OWNED}) AS head
             CROSS JOIN LATERAL (
               WITH RECURSIVE search(low, high) AS (
                 SELECT 0, head.stream_version
                 UNION ALL
                 SELECT CASE WHEN coalesce(probe.is_before, true) THEN middle.version ELSE low END,
                        CASE WHEN coalesce(probe.is_before, true) THEN high ELSE probe.stream_version - 1 END
                   FROM search CROSS JOIN LATERAL (SELECT (low + high + 1) / 2 AS version) AS middle
                   LEFT JOIN LATERAL (SELECT stream_version, (transaction_id, position) <= ($3::xid8, $4::bigint) AS is_before
                                        FROM events WHERE stream_id = wanted.id AND stream_version > low AND stream_version <= middle.version
                                       ORDER BY stream_version DESC LIMIT 1) AS probe ON true
                  WHERE low < high)
               SELECT low AS version FROM search WHERE low >= high LIMIT 1) AS passed
             CROSS JOIN LATERAL (SELECT ${UNCAST} FROM events
                                  WHERE stream_id = wanted.id AND stream_version > passed.version AND ${OWNED} AND ${IN_PART}
                                  ORDER BY stream_version LIMIT $7) AS events
            ${IN_ORDER} LIMIT $7`,
    values: [...partValues(owner, part), limit, streamIds],
  })
  return rows.map(toLogged)
}
