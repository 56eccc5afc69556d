/** Converts a recorded voucher to the contract's format. */
import type { Voucher as ChainVoucher } from '../contracts/voucher.ts'
import { digestOf } from '../metadata/cid.ts'

type Terms = {
  readonly tokenId: string
  /** The voucher's recipient; `null` for whoever redeems. */
  readonly recipient: string | null
  readonly amount: string
  readonly cid: string
  /** ISO 8601, whole seconds. */
  readonly validUntil: string | null
}

export function chainVoucher({ tokenId, recipient, amount, cid, validUntil }: Terms): ChainVoucher {
  return {
    tokenId: BigInt(tokenId),
    recipient,
    amount: BigInt(amount),
    digest: digestOf(cid),
    validUntil: validUntil === null ? null : Date.parse(validUntil) / 1_000,
  }
}
