/**
 * Token moves of a collection according to the chain's blocks, on the stream `ownership-<collectionId>`. Addresses have
 * their EIP-55 checksum; token ids and amounts are decimal digits in strings.
 */
import type { Event } from '../../core/messages.ts'

export type TokenMove = {
  readonly tokenId: string
  /** `null` for a mint. */
  readonly from: string | null
  /** `null` for a burn. */
  readonly to: string | null
  /** Units of the token; 1 for ERC-721. */
  readonly amount: string
}

/** The moves of a collection in one block, in the order of their first logs; equal ones are added up. */
export type MovesOfBlock = {
  readonly chainId: number
  readonly contract: string
  readonly blockNumber: number
  readonly blockHash: string
  readonly moves: readonly TokenMove[]
}

export type TokensMoved = Event<'TokensMoved', MovesOfBlock & { observedAt: string }>
/** The block left the chain: its moves are undone. Of several blocks the newest comes first. */
export type OwnershipReorged = Event<
  'OwnershipReorged',
  MovesOfBlock & { readonly ancestorNumber: number; observedAt: string }
>

export type OwnershipEvent = TokensMoved | OwnershipReorged
