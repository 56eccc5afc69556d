/**
 * The bodies of deliveries. They follow from the log alone, so that each attempt sends the same bytes, also after years
 * and from another process. A sender keeps the newest in memory: an event is rendered once for all its webhooks.
 */
import { LRUCache } from 'lru-cache'
import type { Payload } from './events.ts'
import type { RenderedEvent } from './fan-out.ts'

/** Standard Webhooks 1.0.0 advises to stay below 20 kB. */
const MAX_BODY_BYTES = 20_000
/** Characters of JSON that are kept. */
const KEPT = 8 * 1_024 * 1_024

type PublicEvent = RenderedEvent['event']

/** `data` is the last member: a body without it is the beginning of the other. */
type Body = { readonly text: string; readonly thinLength: number }

/** The body of an event for a payload. */
export type BodyOf = (payload: Payload) => string

export type Bodies = {
  /** Keeps events that will be sent soon. */
  readonly keep: (events: readonly RenderedEvent[]) => void
  /** By event id. Ids that the log does not have are missing. @throws database errors */
  readonly bodiesOf: (eventIds: readonly string[]) => Promise<ReadonlyMap<string, BodyOf>>
}

/** @param read as `readRendered` */
export function createBodies(read: (eventIds: readonly string[]) => Promise<readonly RenderedEvent[]>): Bodies {
  const kept = new LRUCache<string, Body>({ maxSize: KEPT, sizeCalculation: ({ text }) => text.length })

  function put(event: PublicEvent): Body {
    const body = kept.get(event.id) ?? render(event)
    kept.set(event.id, body)
    return body
  }

  return {
    keep(events) {
      for (const { event } of events) put(event)
    },
    async bodiesOf(eventIds) {
      const bodies = new Map<string, BodyOf>()
      const add = (id: string, body: Body) => bodies.set(id, (payload) => asSent(body, payload))
      for (const id of eventIds) {
        const body = kept.get(id)
        if (body !== undefined) add(id, body)
      }
      const missing = eventIds.filter((id) => !bodies.has(id))
      const rendered = missing.length === 0 ? [] : await read(missing)
      for (const { event } of rendered) add(event.id, put(event))
      return bodies
    },
  }
}

function render({ data, ...rest }: PublicEvent): Body {
  const thin = JSON.stringify(rest).slice(0, -1)
  return { text: `${thin},"data":${JSON.stringify(data)}}`, thinLength: thin.length }
}

/** `thin`, and what would be too large, has no `data`: the receiver reads the resource. */
function asSent({ text, thinLength }: Body, payload: Payload): string {
  return payload === 'full' && Buffer.byteLength(text) <= MAX_BODY_BYTES ? text : `${text.slice(0, thinLength)}}`
}
