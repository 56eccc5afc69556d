/**
 * Who got which token of a collection, as the chain's blocks said it, on the stream `ownership-<collectionId>`. Addresses
 * carry their EIP-55 checksum; token ids and amounts are decimal digits in strings.
 */
import type { Event } from '../../core/messages.ts'

export type TokenMove = {
  readonly tokenId: string
  /** `null` in a mint. */
  readonly from: string | null
  /** `null` in a burn. */
  readonly to: string | null
  /** Units of the token; 1 for ERC-721. */
  readonly amount: string
}

/** All of a collection's moves in one block, in the order of its logs. */
export type MovesOfBlock = {
  readonly chainId: number
  readonly contract: string
  readonly blockNumber: number
  readonly blockHash: string
  readonly moves: readonly TokenMove[]
}

export type TokensMoved = Event<'TokensMoved', MovesOfBlock & { observedAt: string }>
/** The block is not on the chain any more: its moves are taken back. Of several blocks the newest comes first. */
export type OwnershipReorged = Event<
  'OwnershipReorged',
  MovesOfBlock & { readonly ancestorNumber: number; observedAt: string }
>

export type OwnershipEvent = TokensMoved | OwnershipReorged
