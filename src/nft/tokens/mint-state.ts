/** The state of a mint: the fold of its events. */
import type { Mint, MintEvent, VoucherTerms, VoucherUse } from './mint-events.ts'

export type Voucher = VoucherTerms & {
  /**
   * The voucher's recipient; `null` for whoever redeems. A redemption changes the token's recipient, never this one.
   */
  readonly recipient: string | null
  /** `null` until a signer has signed it. */
  readonly signature: string | null
  readonly signedAt: string | null
  /** The newest transaction to revoke it. */
  readonly revocationId: string | null
  /** What the chain did with its token id; `null` while nothing did. */
  readonly use: VoucherUse | null
}

export type KnownMint = {
  readonly state: 'recorded'
  readonly mint: Mint
  /** `null` unless the mint is LAZY. */
  readonly voucher: Voucher | null
}
export type MintState = { readonly state: 'unknown' } | KnownMint

export const UNKNOWN_MINT: MintState = { state: 'unknown' }

export function evolve(before: MintState, event: MintEvent): MintState {
  if (event.type === 'MintRecorded') return { state: 'recorded', mint: event.data, voucher: null }
  if (before.state === 'unknown') return before
  const { mint, voucher } = before
  if (event.type === 'VoucherRequested') {
    const recipient = mint.tokens[0]?.recipient ?? null
    return {
      ...before,
      voucher: { ...event.data, recipient, signature: null, signedAt: null, revocationId: null, use: null },
    }
  }
  if (voucher === null) return before
  switch (event.type) {
    case 'VoucherSigned':
      return { ...before, voucher: { ...voucher, ...event.data } }
    case 'VoucherRedemptionRequested': {
      const { recipient, transactionId } = event.data
      return {
        ...before,
        mint: { ...mint, tokens: mint.tokens.map((token) => ({ ...token, recipient, transactionId })) },
      }
    }
    case 'VoucherRevocationRecorded':
      return { ...before, voucher: { ...voucher, revocationId: event.data.transactionId } }
    case 'VoucherUsed': {
      const { observedAt: _, ...use } = event.data
      return { ...before, voucher: { ...voucher, use } }
    }
    case 'VoucherUseReorged':
      return { ...before, voucher: { ...voucher, use: null } }
    default:
      return event satisfies never
  }
}
