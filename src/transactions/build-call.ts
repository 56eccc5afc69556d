/** Converts an intent to a call: the only place that knows what each kind of transaction does on chain. */
import { encodeTransfer } from '../chain/erc20.ts'
import type { UnsignedTransaction } from '../keys/signer.ts'
import type { Fees } from './events.ts'
import type { KnownTransaction } from './state.ts'

export type Call = { readonly to: string; readonly value: bigint; readonly data: string }

/** Gas of a plain transfer of the native currency to an account without code (Ethereum yellow paper, G_transaction). */
export const PLAIN_TRANSFER_GAS = 21_000n

export function buildCall({ intent }: KnownTransaction): Call {
  const amount = BigInt(intent.amount)
  if (intent.data !== null) return { to: intent.to, value: amount, data: intent.data }
  if (intent.asset.contract === null) return { to: intent.to, value: amount, data: '0x' }
  return { to: intent.asset.contract, value: 0n, data: encodeTransfer(intent.to, amount) }
}

/** A transfer of zero to the sender itself, which uses the nonce without effect. */
export function buildCancellation({ intent }: KnownTransaction): Call {
  return { to: intent.from, value: 0n, data: '0x' }
}

/** An unsigned EIP-1559 transaction. */
export function unsigned(chainId: number, nonce: number, call: Call, fees: Fees): UnsignedTransaction {
  return {
    chainId,
    nonce,
    to: call.to,
    value: call.value,
    data: call.data,
    gasLimit: BigInt(fees.gasLimit),
    maxFeePerGas: BigInt(fees.maxFeePerGas),
    maxPriorityFeePerGas: BigInt(fees.maxPriorityFeePerGas),
  }
}
