/**
 * The bodies of deliveries. They follow from the log alone, so that each attempt sends the same bytes, also after years
 * and from another process. A sender keeps the newest in memory: an event is rendered once for all its webhooks.
 */
import { LRUCache } from 'lru-cache'
import type { Payload } from './events.ts'
import type { RenderedEvent } from './fan-out.ts'
import type { ReadEvents } from './rendered-by-id.ts'

/** Standard Webhooks 1.0.0 advises to stay below 20 kB. */
const MAX_BODY_BYTES = 20_000
/** Characters of JSON that are kept. */
const KEPT = 8 * 1_024 * 1_024

type PublicEvent = RenderedEvent['event']

export type Bodies = {
  /** Keeps events that will be sent soon. */
  readonly keep: (events: readonly RenderedEvent[]) => void
  /** By event id. Ids that the log does not have are missing. @throws database errors */
  readonly bodiesOf: (eventIds: readonly string[], payload: Payload) => Promise<ReadonlyMap<string, string>>
}

export function createBodies(read: ReadEvents): Bodies {
  const full = new LRUCache<string, string>({ maxSize: KEPT, sizeCalculation: (body) => body.length })

  function put(event: PublicEvent): string {
    const body = full.get(event.id) ?? JSON.stringify(event)
    full.set(event.id, body)
    return body
  }

  return {
    keep(events) {
      for (const { event } of events) put(event)
    },
    async bodiesOf(eventIds, payload) {
      const known = new Map(
        eventIds.flatMap((id) => {
          const body = full.get(id)
          return body === undefined ? [] : [[id, body] as const]
        }),
      )
      const missing = eventIds.filter((id) => !known.has(id))
      const rendered = missing.length === 0 ? [] : await read(missing)
      for (const { event } of rendered) known.set(event.id, put(event))
      return new Map([...known].map(([id, body]) => [id, asSent(body, payload)]))
    },
  }
}

/** `thin`, and what would be too large, has no `data`: the receiver reads the resource. */
function asSent(body: string, payload: Payload): string {
  if (payload === 'full' && Buffer.byteLength(body) <= MAX_BODY_BYTES) return body
  const { data: _, ...rest } = JSON.parse(body) as Record<string, unknown>
  return JSON.stringify(rest)
}
