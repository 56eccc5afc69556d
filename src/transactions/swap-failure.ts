/** Why a swap failed, as a stable code: routers give reasons as texts. Pure. */
import type { SwapIntent } from './events.ts'

/** SwapRouter02, V2 routers, and `unwrapWETH9` with less than its minimum. */
const SLIPPAGE =
  /Too little received|Too much requested|INSUFFICIENT_OUTPUT_AMOUNT|EXCESSIVE_INPUT_AMOUNT|Insufficient WETH9/
const DEADLINE = /Transaction too old|UniswapV2Router: EXPIRED/
/** The router could not take the sold token. */
const NOT_TAKEN = /\bSTF\b|TRANSFER_FROM_FAILED|transferFrom failed/

/**
 * `slippage_exceeded`, `deadline_passed` or `allowance_missing` in place of `execution_reverted`; other codes unchanged.
 * An exact output whose allowance is its maximum reverts like a missing approval when it would cost more: the router
 * takes the token before it compares.
 */
export function swapFailureCode(
  { code, message }: { readonly code: string; readonly message: string },
  { amountType }: Pick<SwapIntent, 'amountType'>,
): string {
  if (code !== 'execution_reverted') return code
  if (SLIPPAGE.test(message)) return 'slippage_exceeded'
  if (DEADLINE.test(message)) return 'deadline_passed'
  if (!NOT_TAKEN.test(message)) return code
  return amountType === 'exact_output' ? 'slippage_exceeded' : 'allowance_missing'
}
