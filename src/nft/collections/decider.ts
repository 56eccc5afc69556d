/** The commands of a collection. Pure: ids, the contract's address and the time come with the command. */
import { Conflict, ValidationFailed } from '../../core/errors.ts'
import type { Decider } from '../../core/messages.ts'
import type { Collection, CollectionEvent } from './events.ts'
import { type CollectionState, evolve, UNKNOWN_COLLECTION } from './state.ts'

/** The contract stores the lengths of its texts in one byte each. */
const MAX_TEXT_BYTES = 255
const MAX_ROYALTY_BPS = 5_000

export type CollectionCommand = { readonly type: 'RequestCollection'; readonly collection: Collection }

export const collectionDecider: Decider<CollectionState, CollectionCommand, CollectionEvent> = {
  initialState: UNKNOWN_COLLECTION,
  evolve,
  decide({ collection }, state) {
    if (state.state !== 'unknown') throw new Conflict('collection_exists', 'A collection with this id already exists.')
    requireFit(collection)
    const { royaltyBps, royaltyRecipient } = collection
    if (!Number.isInteger(royaltyBps) || royaltyBps < 0 || royaltyBps > MAX_ROYALTY_BPS) {
      const rule = 'royalty_percentage must be a number from 0 to 50 with at most 2 decimals.'
      throw ValidationFailed.field('royalty_percentage', 'invalid_royalty', rule)
    }
    if (royaltyBps > 0 && royaltyRecipient === null) {
      throw ValidationFailed.field(
        'royalty_recipient',
        'required',
        'royalty_recipient is required if royalty_percentage is greater than 0.',
      )
    }
    return [{ type: 'CollectionRequested', data: collection }]
  },
}

/** @throws ValidationFailed `too_long` for texts that the contract cannot store */
export function requireFit(texts: { readonly name: string; readonly symbol: string }): void {
  for (const field of ['name', 'symbol'] as const) {
    const bytes = new TextEncoder().encode(texts[field]).length
    if (bytes <= MAX_TEXT_BYTES) continue
    const rule = `${field} has ${bytes} bytes in UTF-8, but the contract can store at most ${MAX_TEXT_BYTES}: shorten it.`
    throw ValidationFailed.field(field, 'too_long', rule)
  }
}
