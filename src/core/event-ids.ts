/**
 * The permanent id of an event: its stream and its version there, which an export, an import and a rebuild keep.
 * Positions and transaction ids belong to one database and are not kept.
 */

/** Largest version: it is a PostgreSQL `integer`. */
const MAX_VERSION = 2_147_483_647
const EVENT_ID = /^evt_([a-z]+-[^\s]+)\.([1-9][0-9]{0,9})$/
const INDEX = /~([1-9][0-9]?)$/

export type EventName = { readonly streamId: string; readonly streamVersion: number }
/** One of the public events of an event of the log. `index`: 0 for the first one. */
export type PublicEventName = EventName & { readonly index: number }

/** `evt_<stream id>.<stream version>`: `evt_transaction-tx_0197….3` is the third event of that transaction. */
export function eventIdOf({ streamId, streamVersion }: EventName): string {
  return `evt_${streamId}.${streamVersion}`
}

/** Parses an event id; `undefined` for anything else. */
export function parseEventId(id: string): EventName | undefined {
  const [, streamId, digits] = EVENT_ID.exec(id) ?? []
  const streamVersion = Number(digits)
  if (streamId === undefined || streamVersion > MAX_VERSION) return undefined
  return { streamId, streamVersion }
}

/** The id of the first public event is that of the event of the log; the others end with `~1`, `~2`, … */
export function publicEventIdOf({ index, ...name }: PublicEventName): string {
  return index === 0 ? eventIdOf(name) : `${eventIdOf(name)}~${index}`
}

/** Parses the id of a public event; `undefined` for anything else. */
export function parsePublicEventId(id: string): PublicEventName | undefined {
  const [suffix, digits] = INDEX.exec(id) ?? []
  const name = parseEventId(suffix === undefined ? id : id.slice(0, -suffix.length))
  return name && { ...name, index: Number(digits ?? 0) }
}
