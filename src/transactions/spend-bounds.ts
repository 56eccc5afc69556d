/**
 * What a signature may cost beyond what was held back when its request was accepted. The lane stays within these bounds, and
 * the parties of a joint key refuse what is beyond them: a coordinator that lies about fees can waste little, and each step
 * that raises them stands in the log before the next one. Pure; wei for one unit of gas.
 */
import { largest } from '../core/money.ts'
import type { Fees, Intent } from './events.ts'

/** The state of the chain may ask for more gas than it did; a call in an account that was empty costs some 20,000 more. */
const LEAST_EXTRA_GAS = 100_000n

type Reserved<Field extends keyof Intent['reserved']> = { readonly reserved: Pick<Intent['reserved'], Field> }

/** The most gas that a call may be given: twice what was reserved, or 100,000 more where that is little. */
export function mostGas({ reserved }: Reserved<'gasLimit'>): bigint {
  const gas = BigInt(reserved.gasLimit)
  return largest(2n * gas, gas + LEAST_EXTRA_GAS)
}

/** The highest fee of the first bytes: twice what was reserved, which itself is twice the base fee of then. */
export function mostFirstFee({ reserved }: Reserved<'maxFeePerGas'>): bigint {
  return 2n * BigInt(reserved.maxFeePerGas) + 1n
}

/** The highest fee of a replacement: twice that of the bytes that it replaces. */
export function mostReplacementFee(previous: Pick<Fees, 'maxFeePerGas'>): bigint {
  return 2n * BigInt(previous.maxFeePerGas) + 1n
}
