/** A public event as readers get it, and which of them a reader wants and may read. */
import { ALL_SCOPES, allows } from '../core/scopes.ts'
import type { LoggedEvent } from '../event-log/read-logged.ts'
import type { Cursor } from './cursor.ts'
import type { PublicEvent, RenderedEvent, Wanted } from './render.ts'

export type FeedEvent = Cursor & {
  readonly event: PublicEvent
  readonly scope: string
}

/** Omitted parts match everything. */
export type FeedFilter = {
  readonly types: ReadonlySet<string> | null
  /** The id of a resource. */
  readonly resource: string | null
}

export function toFeedEvent({ place }: LoggedEvent, { event, index, scope }: RenderedEvent): FeedEvent {
  return { place, index, event, scope }
}

/** For rendering: what a filter may let through. */
export function wantedBy({ types, resource }: FeedFilter): Wanted {
  return (publisher, { streamId, type }) =>
    (types === null || (publisher.events[type] ?? []).some((caused) => types.has(caused))) &&
    (resource === null || publisher.mayConcern(keyOf(streamId), resource))
}

export function matches({ types, resource }: FeedFilter, { event }: FeedEvent): boolean {
  return (types === null || types.has(event.type)) && (resource === null || event.resource.id === resource)
}

/** What a key with these scopes may see of the event: its data needs the scope of the route that shows the same facts. */
export function shownTo(scopes: ReadonlySet<string>, { event, scope }: FeedEvent): PublicEvent {
  const mayRead = scope === ALL_SCOPES ? scopes.has(ALL_SCOPES) : allows(scopes, scope)
  return mayRead ? event : { ...event, data: null }
}

const FRAMES = new WeakMap<PublicEvent, string>()

/**
 * A block of an event stream (WHATWG HTML § 9.2), made once for all readers. JSON has no line breaks, so that one data
 * field holds it.
 */
export function frameOf(event: PublicEvent): string {
  const known = FRAMES.get(event)
  if (known !== undefined) return known
  const frame = `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
  FRAMES.set(event, frame)
  return frame
}

function keyOf(streamId: string): string {
  return streamId.slice(streamId.indexOf('-') + 1)
}
