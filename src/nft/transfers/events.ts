/**
 * The single event of a token transfer: its request. Whether it succeeded is no event: it follows from the transaction
 * of each item. Token ids and amounts are decimal digits in strings.
 */
import type { Event } from '../../core/messages.ts'
import type { Environment, Network } from '../../core/networks.ts'

/**
 * STANDARD: the receiver is not called. SAFE: it is. BATCH: several tokens, each as STANDARD. ERC-1155 always calls it.
 */
export const TRANSFER_TYPES = ['STANDARD', 'SAFE', 'BATCH'] as const
export type TransferType = (typeof TRANSFER_TYPES)[number]

export type TransferItem = {
  readonly tokenId: string
  /** EIP-55. */
  readonly to: string
  /** Units of the token; 1 for ERC-721. */
  readonly amount: string
  /** The transaction that moves it; ERC-1155 items to one receiver share one. */
  readonly transactionId: string
  /** The number of this sender's transfer of this token, from 1: unique per request. */
  readonly sequence: number
}

export type TransferWarning = { readonly code: string; readonly message: string; readonly field: string }

export type NftTransfer = {
  readonly tenantId: string
  readonly collectionId: string
  readonly walletId: string
  readonly network: Network
  readonly environment: Environment
  readonly chainId: number
  /** EIP-55. */
  readonly from: string
  readonly transferType: TransferType
  /** In the order of the request. */
  readonly items: readonly TransferItem[]
  readonly warnings: readonly TransferWarning[]
  readonly estimatedCompletionAt: string
  readonly requestedAt: string
}

export type NftTransferRecorded = Event<'NftTransferRecorded', NftTransfer>
export type NftTransferEvent = NftTransferRecorded
