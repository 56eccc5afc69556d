/**
 * The events of a mint. Whether a token was minted follows from its transaction; only a voucher, which anybody can redeem, has
 * events for it. Token ids and amounts are decimal digits in strings.
 */
import type { Event } from '../../core/messages.ts'
import type { PolicyPart } from '../../core/policy-part.ts'
import type { Reservation } from '../../core/spend-limits.ts'

export const MINTING_TYPES = ['DIRECT', 'LAZY', 'BATCH'] as const
export type MintingType = (typeof MINTING_TYPES)[number]

/** The published metadata of a token, with the field names of ERC-721 and ERC-1155. */
export type PublishedToken = {
  readonly name: string
  readonly description?: string
  readonly image?: string
  readonly attributes?: readonly { readonly trait_type: string; readonly value: string }[]
}

export type MintToken = {
  readonly tokenId: string
  /** EIP-55; `null` for whoever redeems a voucher. */
  readonly recipient: string | null
  /** Units of the token; 1 for ERC-721. */
  readonly amount: string
  readonly metadata: PublishedToken
  /** CID of the canonical JSON of `metadata`. */
  readonly cid: string
  /** The transaction that mints it; `null` as long as there is none. */
  readonly transactionId: string | null
}

export type Mint = {
  readonly tenantId: string
  readonly collectionId: string
  readonly mintingType: MintingType
  /** In the order of the request, with consecutive ids. */
  readonly tokens: readonly MintToken[]
  readonly requestedAt: string
}

/** The terms of a LAZY mint's voucher besides the token, and where it is valid. */
export type VoucherTerms = {
  /** The wallet that owns the contract: its key signs. */
  readonly walletId: string
  readonly chainId: number
  readonly contract: string
  /** Whole seconds, as the contract counts; `null` if it never expires. */
  readonly validUntil: string | null
  /** The policy that judged it; missing where none was in force, and in older events. */
  readonly policy?: PolicyPart
  /** What it counts towards limits of the policy, whatever becomes of it: a voucher can be redeemed at any time. */
  readonly reservations?: readonly Reservation[]
  readonly requestedAt: string
}

export type MintRecorded = Event<'MintRecorded', Mint>
export type VoucherRequested = Event<'VoucherRequested', VoucherTerms>
/** 65 bytes (r, s, v) in hex. */
export type VoucherSigned = Event<'VoucherSigned', { readonly signature: string; readonly signedAt: string }>
export type VoucherRedemptionRequested = Event<
  'VoucherRedemptionRequested',
  { readonly recipient: string; readonly transactionId: string; readonly requestedAt: string }
>
export type VoucherRevocationRecorded = Event<
  'VoucherRevocationRecorded',
  { readonly transactionId: string; readonly requestedAt: string }
>
/**
 * The contract's own log used the token id of the voucher, whoever sent the transaction: it is `minted`, also if it is burnt
 * later, or `revoked`.
 */
export type VoucherUsed = Event<'VoucherUsed', VoucherUse & { readonly observedAt: string }>
/** The block with the use left the chain. */
export type VoucherUseReorged = Event<
  'VoucherUseReorged',
  VoucherUse & { readonly ancestorNumber: number; readonly observedAt: string }
>

export type VoucherUse = {
  readonly as: 'minted' | 'revoked'
  /** Who got the token, EIP-55; `null` for a revocation. */
  readonly recipient: string | null
  /** `null` where only the recorded moves of the collection show the use, from before uses were recorded. */
  readonly hash: string | null
  /** The transaction of this service with that hash; `null` for anybody else's. */
  readonly transactionId: string | null
  readonly blockNumber: number
  readonly blockHash: string
}

export type MintEvent =
  | MintRecorded
  | VoucherRequested
  | VoucherSigned
  | VoucherRedemptionRequested
  | VoucherRevocationRecorded
  | VoucherUsed
  | VoucherUseReorged
