/**
 * Events as whoever has a database login sends them to `append_commits`, text for text. Each is a valid first event of its
 * stream, but for the members that a test replaces.
 */
import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { chainHash, eventText } from '../../src/event-log/hash-chain.ts'

export type RawEvent = {
  readonly streamId: string
  readonly streamVersion: number
  readonly type: string
  readonly schemaVersion: number
  /** JSON. */
  readonly data: string
  /** JSON. */
  readonly metadata: string
  readonly recordedAt: string
  /** Hex; the empty string before the first event of a stream. */
  readonly previous: string
  /** Whether the event names it: the second event of a stream in a commit does not. */
  readonly namesPrevious: boolean
  readonly commit: number
}

const FIRST = {
  streamVersion: 1,
  schemaVersion: 1,
  data: '{}',
  metadata: '{"actor":"test","tenantId":"acme"}',
  recordedAt: '2026-01-01T00:00:00.000Z',
  previous: '',
  namesPrevious: true,
  commit: 0,
}

/**
 * @param hash hex; the right one by default
 * @returns the event and its hash
 */
export function rawEvent(
  replaced: Partial<RawEvent> & Pick<RawEvent, 'streamId' | 'type'>,
  hash?: string,
): { readonly json: string; readonly hash: string } {
  const event = { ...FIRST, ...replaced }
  const text = eventText(event)
  const said = hash ?? chainHash(event.previous, text)
  const previous = event.previous !== '' && event.namesPrevious ? `"previous":"${event.previous}",` : ''
  return { json: `{"commit":${event.commit},${previous}"hash":"${said}",${text.slice(1)}`, hash: said }
}

/** Appends them in one call. */
export function appendRaw(
  pool: Pick<Pool, 'query'>,
  events: readonly { readonly json: string }[],
  rows: object = {},
  guards: object = {},
): Promise<unknown> {
  const array = `[${events.map(({ json }) => json).join(',')}]`
  return pool.query('SELECT append_commits($1, $2, $3)', [JSON.stringify(guards), array, JSON.stringify(rows)])
}

/** The first event of a new stream, which may come without a row. */
export function rawRequest(replaced: Partial<RawEvent> = {}, hash?: string) {
  const streamId = `wallet-wal_${randomUUID()}`
  return { streamId, ...rawEvent({ streamId, type: 'WalletRequested', ...replaced }, hash) }
}

/** The second event of its stream. */
export function rawRelabelling(
  first: { readonly streamId: string; readonly hash: string },
  replaced: Partial<RawEvent> = {},
) {
  const { streamId, hash: previous } = first
  return rawEvent({ streamId, streamVersion: 2, type: 'WalletRelabelled', previous, ...replaced })
}

/** The number of events of the log. */
export async function countOf(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ n: number }>('SELECT count(*)::integer AS n FROM events')
  return rows[0]?.n ?? -1
}

/** The outcome of each refused commit, or the SQLSTATE of another error; `accepted` if there is none. */
export async function outcomesOf(appending: Promise<unknown>): Promise<readonly string[]> {
  const error = await appending.then(
    () => ({ code: 'accepted', detail: '[]' }),
    (refused: { readonly code: string; readonly detail: string }) => refused,
  )
  if (error.code !== 'BU001') return [error.code]
  return (JSON.parse(error.detail) as { readonly commit: number; readonly outcome: string }[]).map(
    ({ commit, outcome }) => `${commit} ${outcome}`,
  )
}
