/**
 * Bad events that the auditor found in the log and went on behind: each is recorded and reported once, and stays open
 * until an operator has set it aside, or the log does not have it any more.
 */
import type { Pool } from 'pg'
import { SET_ASIDE_STREAM } from '../event-log/set-aside.ts'
import type { Row } from '../event-log/table-rows.ts'
import type { BadEvent } from './chain/chain-check.ts'
import type { Queryable } from './chain/log-rows.ts'

/** How many are open, and the first of them. */
export type OpenBadEvents = {
  readonly count: number
  readonly first: (Pick<BadEvent, 'streamId' | 'streamVersion' | 'problem'> & { readonly position: string }) | null
}

/** Records bad events. @returns those that were not recorded before */
export async function recordBadEvents(database: Queryable, found: readonly BadEvent[]): Promise<readonly BadEvent[]> {
  if (found.length === 0) return []
  const { rows } = await (database as Pick<Pool, 'query'>).query<Pick<Row<'bad_events'>, 'position'>>({
    name: 'record_bad_events',
    text: `INSERT INTO bad_events (stream_id, stream_version, hash, position, problem)
             SELECT * FROM unnest($1::text[], $2::integer[], $3::text[], $4::bigint[], $5::text[])
           ON CONFLICT (stream_id, stream_version) DO NOTHING RETURNING position`,
    values: [
      found.map(({ streamId }) => streamId),
      found.map(({ streamVersion }) => streamVersion),
      found.map(({ hash }) => hash),
      found.map(({ place }) => place.position.toString()),
      found.map(({ problem }) => problem),
    ],
  })
  const fresh = new Set(rows.map(({ position }) => String(position)))
  return found.filter(({ place }) => fresh.has(place.position.toString()))
}

export async function readOpenBadEvents(pool: Pool): Promise<OpenBadEvents> {
  const { rows } = await pool.query<
    Pick<Row<'bad_events'>, 'stream_id' | 'stream_version' | 'position' | 'problem'> & { readonly n: string }
  >({
    name: 'open_bad_events',
    text: `SELECT count(*) OVER () AS n, b.stream_id, b.stream_version, b.position, b.problem FROM bad_events AS b
             JOIN events AS e ON e.stream_id = b.stream_id AND e.stream_version = b.stream_version AND e.hash = decode(b.hash, 'hex')
            WHERE NOT EXISTS (SELECT FROM events AS s WHERE s.stream_id = '${SET_ASIDE_STREAM}' AND s.data->>'streamId' = b.stream_id
                                 AND s.data->>'streamVersion' = b.stream_version::text AND s.data->>'hash' = b.hash)
            ORDER BY b.found_at, b.position LIMIT 1`,
  })
  const [row] = rows
  if (row === undefined) return { count: 0, first: null }
  const { stream_id: streamId, stream_version: streamVersion, problem, position } = row
  return { count: Number(row.n), first: { streamId, streamVersion, problem, position: String(position) } }
}

/** One line that names the first of them. */
export function badEventsText({ count, first }: OpenBadEvents): string | null {
  if (first === null) return null
  const { position, streamId, streamVersion, problem } = first
  const others = count === 1 ? '' : ` ${count - 1} more events are bad.`
  return `The event at position ${position}, ${streamId} version ${streamVersion}, ${problem}.${others}`
}
