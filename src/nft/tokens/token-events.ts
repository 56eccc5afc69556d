/**
 * The events of a token of a DYNAMIC collection after its mint. Whether an update took effect follows from its
 * transaction.
 */
import type { Event } from '../../core/messages.ts'

/** The published metadata of a token: every field of its schema. */
export type PublishedMetadata = {
  readonly name: string
  readonly description?: string
  readonly image?: string
  readonly attributes?: readonly { readonly trait_type: string; readonly value: string }[]
}

/** The token, and the transaction of the update. */
export type TokenUpdate = {
  readonly tenantId: string
  readonly collectionId: string
  readonly tokenId: string
  readonly transactionId: string
  readonly requestedAt: string
}

export type TokenMetadataChanged = Event<
  'TokenMetadataChanged',
  TokenUpdate & { readonly metadata: PublishedMetadata /** Of its canonical JSON. */; readonly cid: string }
>
export type TokenFrozen = Event<'TokenFrozen', TokenUpdate>
export type TokenEvent = TokenMetadataChanged | TokenFrozen
