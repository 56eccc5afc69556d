/**
 * How much a signature may cost beyond the hold of its request. The lane stays within these limits, and mpc parties
 * refuse what exceeds them: a coordinator that lies about fees can waste little, and each increase is in the log before
 * the next one. Pure; wei per gas.
 */
import { TAG_ROOM_WEI } from '../chain/fees.ts'
import { GAS_BOUNDS, type GasRules } from '../chain/forks.ts'
import { largest, smallest } from '../core/money.ts'
import type { Fees, Intent } from './events.ts'

type Reserved<Field extends keyof Intent['reserved']> = { readonly reserved: Pick<Intent['reserved'], Field> }

/**
 * The maximum gas of a call: twice the reserved gas, or a fixed amount more if that is higher. It knows no fork, so that
 * those who check it need no change when a fork changes what calls cost.
 */
export function mostGas({ reserved }: Reserved<'gasLimit'>): bigint {
  return largest(2n * reserved.gasLimit, reserved.gasLimit + GAS_BOUNDS.extra)
}

/** The same for who signs, who also knows what the nodes of the chain accept. */
export function mostSignable(intent: Reserved<'gasLimit'>, { transaction }: Pick<GasRules, 'transaction'>): bigint {
  return smallest(mostGas(intent), transaction)
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
