/**
 * Whether a recorded lazy mint covers what somebody asks a share to sign. Pure: the state comes from the log, which the
 * holder of the share has read by itself.
 */
import { voucherTypedData } from '../../chain/nft-voucher.ts'
import { COVERED, type Coverage, notCovered } from '../../keys/coverage.ts'
import { sameTypedData } from '../../keys/same-typed-data.ts'
import type { TypedData } from '../../keys/signer.ts'
import type { MintState } from './mint-state.ts'
import { chainVoucher } from './voucher-terms.ts'

export type AskedVoucher = {
  /** Whose key is to sign. */
  readonly walletId: string
  readonly typedData: TypedData
}

/**
 * Covered is the voucher of the recorded terms, by the key of the wallet that owns the contract. The recipient is the one
 * that the voucher names, whatever a redemption named later. That it is signed already is no objection.
 */
export function coversVoucher(state: MintState, { walletId, typedData }: AskedVoucher): Coverage {
  if (state.state === 'unknown') return notCovered('the log has no such mint')
  const { voucher, mint } = state
  const [token] = mint.tokens
  if (voucher === null || token === undefined) return notCovered('the mint has no voucher')
  if (walletId !== voucher.walletId) return notCovered("another wallet's key signs the voucher")
  const { chainId, contract, recipient, validUntil } = voucher
  const recorded = voucherTypedData(chainId, contract, chainVoucher({ ...token, recipient, validUntil }))
  return sameTypedData(typedData, recorded) ? COVERED : notCovered('the voucher is not of the recorded terms')
}
