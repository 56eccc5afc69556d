/** The status of a LAZY mint. Reads and public events follow this one rule. Pure. */
import type { Outcome } from '../outcome.ts'
import type { VoucherUse } from './mint-events.ts'

export type VoucherStatus = 'MINTED' | 'REVOKED' | 'PENDING' | 'LAZY'

/**
 * What the contract logged decides, whoever sent the transaction. A failed redemption or revocation has not used the voucher.
 * Uses in blocks from before they were recorded follow from the own transactions.
 */
export function voucherStatus({
  used,
  redemption,
  revocation,
}: {
  readonly used: VoucherUse['as'] | null
  /** Of the newest transaction to redeem it; `null` if there is none. */
  readonly redemption: Outcome | null
  readonly revocation: Outcome | null
}): VoucherStatus {
  if (used !== null) return used === 'minted' ? 'MINTED' : 'REVOKED'
  if (redemption === 'done') return 'MINTED'
  if (revocation === 'done') return 'REVOKED'
  return redemption === 'pending' ? 'PENDING' : 'LAZY'
}
