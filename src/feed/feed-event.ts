/** A public event as readers get it, and which of them a reader wants and may read. */
import { allows, type Guard } from '../core/scopes.ts'
import type { LoggedEvent } from '../event-log/read-logged.ts'
import type { Cursor } from './cursor.ts'
import type { PublicEvent, RenderedEvent, Wanted } from './render.ts'

export type FeedEvent = Cursor & {
  readonly event: PublicEvent
  readonly scope: Guard
}

/** Omitted parts match everything. */
export type FeedFilter = {
  readonly types: ReadonlySet<string> | null
  /** The id of a resource. */
  readonly resource: string | null
}

/** Whether it may leave something out. */
export function isFilter({ types, resource }: FeedFilter): boolean {
  return types !== null || resource !== null
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
  return allows(scopes, scope) ? event : { ...event, data: null }
}

const FRAMES = new WeakMap<FeedEvent, Buffer>()
const FRAMES_WITHOUT_DATA = new WeakMap<FeedEvent, Buffer>()

/**
 * A block of an event stream (WHATWG HTML § 9.2), made once for all readers. JSON has no line breaks, so that one data
 * field holds it.
 */
export function frameOf(event: FeedEvent): Buffer {
  return cachedFrame(FRAMES, event, event.event)
}

/** What a key with these scopes may see of the events, as blocks of an event stream. @param events at least one */
export function joinFrames(scopes: ReadonlySet<string>, events: readonly FeedEvent[]): Buffer {
  const frames = events.map((event) => {
    const shown = shownTo(scopes, event)
    return shown === event.event ? frameOf(event) : cachedFrame(FRAMES_WITHOUT_DATA, event, shown)
  })
  const [only] = frames
  return frames.length === 1 && only !== undefined ? only : joinOnce(frames)
}

function cachedFrame(cache: WeakMap<FeedEvent, Buffer>, key: FeedEvent, event: PublicEvent): Buffer {
  const known = cache.get(key)
  if (known !== undefined) return known
  const frame = Buffer.from(`id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  cache.set(key, frame)
  return frame
}

let newest: { readonly frames: readonly Buffer[]; readonly joined: Buffer } = { frames: [], joined: Buffer.alloc(0) }

/** Readers that are told together mostly get the same events: these are joined once. */
function joinOnce(frames: readonly Buffer[]): Buffer {
  const isSame = frames.length === newest.frames.length && frames.every((frame, n) => frame === newest.frames[n])
  if (!isSame) newest = { frames, joined: Buffer.concat(frames) }
  return newest.joined
}

function keyOf(streamId: string): string {
  return streamId.slice(streamId.indexOf('-') + 1)
}
