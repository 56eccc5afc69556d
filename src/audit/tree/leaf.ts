/** What a leaf of the tree stands for: the id of an event and its chain hash, which covers the event and all before it in its stream. */
import { type EventName, eventIdOf } from '../../core/event-ids.ts'
import { leafHash } from '../merkle/hashes.ts'

/** The entry, as text in UTF-8: the id, a space, the chain hash in hex. The place in the log is the index of the leaf. */
function entryOf(event: EventName & { readonly hash: string }): string {
  return `${eventIdOf(event)} ${event.hash}`
}

export function leafOf(event: EventName & { readonly hash: string }): Buffer {
  return leafHash(entryOf(event))
}
