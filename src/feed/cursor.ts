/** How far a reader of the feed is: after one public event of one event of the log. */
import { type PublicEventName, publicEventIdOf } from '../core/event-ids.ts'
import { comparePlaces, placeBefore, type SubscriptionPosition } from '../event-log/subscription.ts'

/** The reader has seen the public events of the event at this place up to this index, and everything before it. */
export type Cursor = {
  readonly place: SubscriptionPosition
  /** Infinite if the event has no later ones. */
  readonly index: number
}

/** Whether a public event comes after the cursor. */
export function isAfter(event: Cursor, cursor: Cursor): boolean {
  const order = comparePlaces(event.place, cursor.place)
  return order === 0 ? event.index > cursor.index : order > 0
}

/** The place after which to read the log, so that the rest of the cursor's own event is read too. */
export function readFrom({ place, index }: Cursor): SubscriptionPosition {
  return index === Number.POSITIVE_INFINITY ? place : placeBefore(place)
}

/** The id that continues after everything of an event of the log. */
export function endIdOf(event: Omit<PublicEventName, 'index'>, lastIndex: number): string {
  const { streamId, streamVersion } = event
  return publicEventIdOf({ streamId, streamVersion, index: lastIndex })
}
