/** The facts of a collection's life. Whether its contract stands is no fact of its own: its transaction tells. */
import type { Event } from '../../core/messages.ts'
import type { Environment, Network } from '../../core/networks.ts'

export const STANDARDS = ['ERC721', 'ERC1155'] as const
export type Standard = (typeof STANDARDS)[number]

/** STANDARD: metadata never changes. SERIES: tokens have edition numbers. DYNAMIC: metadata may change until it is frozen. */
export const COLLECTION_TYPES = ['STANDARD', 'SERIES', 'DYNAMIC'] as const
export type CollectionType = (typeof COLLECTION_TYPES)[number]

/** What is published of a collection, as ERC-7572 names the fields. */
export type PublishedCollection = {
  readonly name: string
  readonly symbol: string
  readonly description?: string
  readonly image?: string
  readonly external_link?: string
}

export type Collection = {
  readonly tenantId: string
  /** The wallet that owns the contract, and that every mint is sent from. */
  readonly walletId: string
  readonly network: Network
  readonly environment: Environment
  readonly chainId: number
  /** Address of that wallet. */
  readonly owner: string
  readonly standard: Standard
  readonly collectionType: CollectionType
  readonly name: string
  readonly symbol: string
  readonly metadata: PublishedCollection
  /** Of the canonical JSON of `metadata`. */
  readonly cid: string
  /** What stands before a CID in a `metadata_uri`; the contract holds it for ever. */
  readonly baseUri: string
  /** Hundredths of a percent. */
  readonly royaltyBps: number
  readonly royaltyRecipient: string | null
  readonly maxSupply: number | null
  readonly transferable: boolean
  readonly contractAddress: string
  /** What the address was made from, beside the owner and the contract's code. */
  readonly salt: string
  /** The transaction that deploys the contract. */
  readonly transactionId: string
  readonly requestedAt: string
}

export type CollectionRequested = Event<'CollectionRequested', Collection>
export type CollectionEvent = CollectionRequested
