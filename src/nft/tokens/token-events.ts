/** The facts of a token's life after its mint, in a DYNAMIC collection. Whether one came to pass, its transaction tells. */
import type { Event } from '../../core/messages.ts'

/** What is published of a token: every field that its schema allows. */
export type PublishedMetadata = {
  readonly name: string
  readonly description?: string
  readonly image?: string
  readonly attributes?: readonly { readonly trait_type: string; readonly value: string }[]
}

/** The token, and the transaction that is to do it. */
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
