/**
 * Events that an operator has set aside, read from the log itself. What is listed here is believed only of an event that
 * is in fact bad: a reader checks that first, so that a forged list cannot hide a good one.
 */
import type { ClientBase, Pool } from 'pg'
import type { EventRow } from './rows.ts'

/** The stream of the installation that lists them. */
export const SET_ASIDE_STREAM = 'setaside-main'

/** An event by its place in its stream. `hash`: hex. */
export type SetAsideEvent = { readonly streamId: string; readonly streamVersion: number; readonly hash: string }

export type SetAside = {
  /** Streams with such an event: their chains are verified before one is passed over. */
  readonly streams: ReadonlySet<string>
  readonly has: (event: SetAsideEvent) => boolean
}

export const NOTHING_SET_ASIDE: SetAside = { streams: new Set(), has: () => false }

/** SQL: the streams with an event that was set aside; NULL if there are none. One look-up in an index. */
export const SET_ASIDE_STREAMS = `(SELECT array_agg(data->>'streamId') FROM events WHERE stream_id = '${SET_ASIDE_STREAM}')::text[]`

export async function readSetAside(database: Pick<Pool, 'query'> | Pick<ClientBase, 'query'>): Promise<SetAside> {
  const { rows } = await (database as Pick<Pool, 'query'>).query<
    Pick<EventRow, 'stream_id'> & { readonly version: string; readonly hash: string }
  >({
    name: 'events_set_aside',
    // As text: a value of the wrong kind in the list must not stop its readers.
    text: `SELECT data->>'streamId' AS stream_id, data->>'streamVersion' AS version, data->>'hash' AS hash
             FROM events WHERE stream_id = '${SET_ASIDE_STREAM}'`,
  })
  if (rows.length === 0) return NOTHING_SET_ASIDE
  const names = new Set(rows.map(({ stream_id, version, hash }) => `${stream_id} ${version} ${hash}`))
  return {
    streams: new Set(rows.map(({ stream_id }) => stream_id)),
    has: ({ streamId, streamVersion, hash }) => names.has(`${streamId} ${streamVersion} ${hash}`),
  }
}
