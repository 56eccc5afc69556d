/** A recorded voucher as the contract knows it. */
import type { Voucher as ChainVoucher } from '../../chain/nft-voucher.ts'
import { digestOf } from '../metadata/cid.ts'

type Terms = {
  readonly tokenId: string
  /** Who the voucher names; `null` for whoever redeems. */
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
