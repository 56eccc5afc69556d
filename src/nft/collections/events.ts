/** The events of a collection. Whether its contract exists is no event: it follows from its transaction. */
import type { Event } from '../../core/messages.ts'
import type { Environment, Network } from '../../core/networks.ts'

export const STANDARDS = ['ERC721', 'ERC1155'] as const
export type Standard = (typeof STANDARDS)[number]

/** STANDARD: metadata never changes. SERIES: tokens have edition numbers. DYNAMIC: metadata may change until it is frozen. */
export const COLLECTION_TYPES = ['STANDARD', 'SERIES', 'DYNAMIC'] as const
export type CollectionType = (typeof COLLECTION_TYPES)[number]

/** The published metadata of a collection, with the field names of ERC-7572. */
export type PublishedCollection = {
  readonly name: string
  readonly symbol: string
  readonly description?: string
  readonly image?: string
  readonly external_link?: string
}

export type Collection = {
  readonly tenantId: string
  /** The wallet that owns the contract and sends every mint. */
  readonly walletId: string
  readonly network: Network
  readonly environment: Environment
  readonly chainId: number
  /** The address of that wallet. */
  readonly owner: string
  readonly standard: Standard
  readonly collectionType: CollectionType
  readonly name: string
  readonly symbol: string
  readonly metadata: PublishedCollection
  /** CID of the canonical JSON of `metadata`. */
  readonly cid: string
  /** The prefix of a CID in a `metadata_uri`; immutable in the contract. */
  readonly baseUri: string
  /** Basis points (hundredths of a percent). */
  readonly royaltyBps: number
  readonly royaltyRecipient: string | null
  readonly maxSupply: number | null
  readonly transferable: boolean
  readonly contractAddress: string
  /** The input of the address, besides the owner and the contract's code. */
  readonly salt: string
  /** The transaction that deploys the contract. */
  readonly transactionId: string
  readonly requestedAt: string
}

export type CollectionRequested = Event<'CollectionRequested', Collection>
export type CollectionEvent = CollectionRequested
