/** Converts an intent to a call: the only place that knows what each kind of transaction does on chain. */
import { encodeTransfer } from '../chain/erc20.ts'
import type { UnsignedTransaction } from '../keys/signer.ts'
import type { Fees, Intent } from './intent.ts'

export type Call = { readonly to: string; readonly value: bigint; readonly data: string }

export function buildCall({ to, asset, amount, data }: Pick<Intent, 'to' | 'asset' | 'amount' | 'data'>): Call {
  const value = asset.contract === null ? amount : 0n
  // A swap of a token holds its amount, and its call data says how the router takes it.
  if (data !== null) return { to, value, data }
  if (asset.contract === null) return { to, value, data: '0x' }
  return { to: asset.contract, value: 0n, data: encodeTransfer(to, amount) }
}

/** A transfer of zero to the sender itself, which uses the nonce without effect. */
export function buildCancellation({ from }: Pick<Intent, 'from'>): Call {
  return { to: from, value: 0n, data: '0x' }
}

/** An unsigned EIP-1559 transaction. */
export function unsigned(chainId: number, nonce: number, call: Call, fees: Fees): UnsignedTransaction {
  return { chainId, nonce, ...call, ...fees }
}
