/**
 * How much a signature may cost beyond the hold of its request. The lane stays within these limits, and mpc parties
 * refuse what exceeds them: a coordinator that lies about fees can waste little, and each increase is in the log before
 * the next one. Pure; wei per gas.
 */
import { TAG_ROOM_WEI } from '../chain/fees.ts'
import { largest, smallest } from '../core/money.ts'
import type { Fees, Intent } from './events.ts'

/** Gas limit of a transaction (EIP-7825). */
export const MAX_GAS = 1n << 24n

/**
 * Gas limit of what moves nothing: a cancellation, or a filler of a gap. Far above what it uses, so that no change of the
 * gas rules of a chain requires a change of those who sign.
 */
export const MAX_EMPTY_GAS = 100_000n

/** The chain state may require more gas than before; a call to an empty account costs some 20,000 more. */
const LEAST_EXTRA_GAS = 100_000n

type Reserved<Field extends keyof Intent['reserved']> = { readonly reserved: Pick<Intent['reserved'], Field> }

/** The maximum gas of a call: twice the reserved gas, or 100,000 more if that is higher, within the limit of the chain. */
export function mostGas({ reserved }: Reserved<'gasLimit'>): bigint {
  return smallest(largest(2n * reserved.gasLimit, reserved.gasLimit + LEAST_EXTRA_GAS), MAX_GAS)
}

/**
 * The maximum fee of the first bytes: twice the reserved fee, which itself includes twice the base fee of that time; and
 * what a tag adds, which matters only where fees are a few thousand wei.
 */
export function mostFirstFee({ reserved }: Reserved<'maxFeePerGas'>): bigint {
  return 2n * reserved.maxFeePerGas + TAG_ROOM_WEI
}

/** The maximum fee of a replacement: twice that of the bytes that it replaces, and what a tag adds. */
export function mostReplacementFee(previous: Pick<Fees, 'maxFeePerGas'>): bigint {
  return 2n * previous.maxFeePerGas + TAG_ROOM_WEI
}
