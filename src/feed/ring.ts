/**
 * The newest public events of the tenants that somebody reads, in memory. Invariant: between `from` and the newest
 * event a channel has every public event of its tenant, in reading order.
 */
import type { LoggedEvent, LogOwner } from '../event-log/read-logged.ts'
import { comparePlaces, type SubscriptionPosition } from '../event-log/subscription.ts'
import { type Cursor, isAfter } from './cursor.ts'
import { type FeedEvent, frameOf } from './feed-event.ts'

/** The events of a tenant in one environment. */
export type Channel = {
  readonly key: string
  /** Events after this place are here; null until the tail has begun to read for this channel. */
  from: SubscriptionPosition | null
  events: FeedEvent[]
  /** The id after the newest event of the log that the tail has read for this channel. */
  newestId: string | null
  bytes: number
  /** One for each reader, called when something was added. */
  readonly listeners: Set<() => void>
}

export type Ring = {
  /** The channel of one more reader. */
  readonly join: (owner: LogOwner, listener: () => void) => Channel
  readonly leave: (channel: Channel, listener: () => void) => void
  readonly channelOf: (event: LoggedEvent) => Channel | undefined
  readonly channels: () => Iterable<Channel>
  readonly add: (channel: Channel, events: readonly FeedEvent[]) => void
  /** Forgets all events: their places mean other events now. */
  readonly clear: () => void
}

/** @param mostBytes of all channels; the largest one loses its oldest events first */
export function createRing(mostBytes: number): Ring {
  const channels = new Map<string, Channel>()
  let bytes = 0

  function dropOldest(): void {
    while (bytes > mostBytes) {
      const [largest] = [...channels.values()].sort((a, b) => b.bytes - a.bytes)
      // Half of it at once, so that the search for the largest stays rare.
      const from = largest?.events[Math.floor((largest.events.length - 1) / 2)]?.place
      if (largest === undefined || from === undefined) return
      replace(
        largest,
        from,
        largest.events.filter(({ place }) => comparePlaces(place, from) > 0),
      )
    }
  }

  function replace(channel: Channel, from: SubscriptionPosition | null, events: FeedEvent[]): void {
    const size = sizeOf(events)
    bytes += size - channel.bytes
    Object.assign(channel, { from, events, bytes: size })
  }

  return {
    join(owner, listener) {
      const key = keyOf(owner)
      const known = channels.get(key)
      const channel: Channel = known ?? { key, from: null, events: [], newestId: null, bytes: 0, listeners: new Set() }
      channels.set(key, channel)
      channel.listeners.add(listener)
      return channel
    },
    leave(channel, listener) {
      channel.listeners.delete(listener)
      if (channel.listeners.size > 0 || channels.get(channel.key) !== channel) return
      channels.delete(channel.key)
      bytes -= channel.bytes
    },
    channelOf: (event) => channels.get(keyOf(event)),
    channels: () => channels.values(),
    add(channel, events) {
      channel.events.push(...events)
      const size = sizeOf(events)
      channel.bytes += size
      bytes += size
      dropOldest()
    },
    clear() {
      for (const channel of channels.values()) replace(channel, null, [])
    },
  }
}

/**
 * The next events after a cursor; null if the channel does not have all of them, so that pages must be read first.
 *
 * @param limit at least 1
 */
export function takeAfter({ from, events }: Channel, cursor: Cursor, limit: number): readonly FeedEvent[] | null {
  if (from === null || comparePlaces(cursor.place, from) < 0) return null
  if (cursor.index !== Number.POSITIVE_INFINITY && comparePlaces(cursor.place, from) === 0) return null
  let low = 0
  let high = events.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const event = events[middle]
    if (event !== undefined && isAfter(event, cursor)) high = middle
    else low = middle + 1
  }
  return events.slice(low, low + limit)
}

function keyOf({ tenantId, environment }: LogOwner): string {
  return `${environment} ${tenantId}`
}

/** Bytes in memory: for each its block, and the object that it was made from. */
function sizeOf(events: readonly FeedEvent[]): number {
  return events.reduce((sum, event) => sum + 3 * frameOf(event).length, 0)
}
