/**
 * The facts of a mint's life. Whether its tokens came to be is no fact of its own: the transaction of each tells. Token ids
 * and amounts are decimal digits in strings.
 */
import type { Event } from '../../core/messages.ts'

export const MINTING_TYPES = ['DIRECT', 'LAZY', 'BATCH'] as const
export type MintingType = (typeof MINTING_TYPES)[number]

/** What is published of a token, as ERC-721 and ERC-1155 name the fields. */
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
  /** Of the canonical JSON of `metadata`. */
  readonly cid: string
  /** The transaction that mints it; `null` as long as none is to. */
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

/** The owner's word that the one token of a LAZY mint may be minted: what it says beside the token, and where it holds. */
export type VoucherTerms = {
  /** The wallet that owns the contract: its key signs. */
  readonly walletId: string
  readonly chainId: number
  readonly contract: string
  /** In whole seconds, as the contract counts; `null` for no end. */
  readonly validUntil: string | null
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
export type MintEvent =
  | MintRecorded
  | VoucherRequested
  | VoucherSigned
  | VoucherRedemptionRequested
  | VoucherRevocationRecorded
