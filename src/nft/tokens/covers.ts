/**
 * Whether a recorded lazy mint covers a request to a share holder. Pure: the holder has read the state from the log
 * itself.
 */

import { COVERED, type Coverage, notCovered } from '../../keys/coverage.ts'
import { sameTypedData } from '../../keys/same-typed-data.ts'
import type { TypedData } from '../../keys/signer.ts'
import { voucherTypedData } from '../contracts/voucher.ts'
import type { MintState } from './mint-state.ts'
import { chainVoucher } from './voucher-terms.ts'

export type AskedVoucher = {
  /** The wallet whose key signs. */
  readonly walletId: string
  readonly typedData: TypedData
}

/**
 * Covers the voucher with the recorded terms, signed by the key of the wallet that owns the contract. The recipient is
 * the voucher's own, whatever a later redemption named. An existing signature is no objection.
 */
export function coversVoucher(state: MintState, { walletId, typedData }: AskedVoucher): Coverage {
  if (state.state === 'unknown') return notCovered('the log does not have this mint')
  const { voucher, mint } = state
  const [token] = mint.tokens
  if (voucher === null || token === undefined) return notCovered('the mint has no voucher')
  if (walletId !== voucher.walletId) return notCovered('the voucher is signed by the key of another wallet')
  const { chainId, contract, recipient, validUntil } = voucher
  const recorded = voucherTypedData(chainId, contract, chainVoucher({ ...token, recipient, validUntil }))
  return sameTypedData(typedData, recorded) ? COVERED : notCovered('the voucher does not match the recorded terms')
}
