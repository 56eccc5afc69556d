/**
 * Slippage bounds of a swap. Both are rounded in favour of the caller: no swap ever costs more than the slippage that
 * the caller accepted, not even by one base unit. With a slippage of 0 the bound is the quote itself. Pure.
 */
import type { AmountType } from './events.ts'

const BPS = 10_000n

/** The least that must come out: at least `amountOut * (1 - slippage)`, rounded up. */
export function minimumOut(amountOut: bigint, slippageBps: number): bigint {
  return ceilDiv(amountOut * (BPS - BigInt(slippageBps)), BPS)
}

/** The most that may go in: at most `amountIn * (1 + slippage)`, rounded down. */
export function maximumIn(amountIn: bigint, slippageBps: number): bigint {
  return (amountIn * (BPS + BigInt(slippageBps))) / BPS
}

export function limitOf(
  amountType: AmountType,
  { amountIn, amountOut }: { readonly amountIn: bigint; readonly amountOut: bigint },
  slippageBps: number,
): bigint {
  return amountType === 'exact_input' ? minimumOut(amountOut, slippageBps) : maximumIn(amountIn, slippageBps)
}

/** The quotient of positive integers, rounded up. */
export function ceilDiv(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor
}
