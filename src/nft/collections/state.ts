/** The state of a collection: the fold of its events. */
import type { Collection, CollectionEvent } from './events.ts'

export type KnownCollection = { readonly state: 'requested'; readonly collection: Collection }
export type CollectionState = { readonly state: 'unknown' } | KnownCollection

export const UNKNOWN_COLLECTION: CollectionState = { state: 'unknown' }

export function evolve(_before: CollectionState, event: CollectionEvent): CollectionState {
  return { state: 'requested', collection: event.data }
}
