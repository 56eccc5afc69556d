/**
 * The content of a leaf: the id of an event and its chain hash, which covers the event and all before it in its stream.
 */
import { type EventName, eventIdOf } from '../../core/event-ids.ts'
import { leafHash } from '../merkle/hashes.ts'

/** The entry as UTF-8 text: the id, a space, the chain hash in hex. The leaf's index is the place in the log. */
function entryOf(event: EventName & { readonly hash: string }): string {
  return `${eventIdOf(event)} ${event.hash}`
}

export function leafOf(event: EventName & { readonly hash: string }): Buffer {
  return leafHash(entryOf(event))
}
