/** Why a swap failed, as a stable code and a message: routers give reasons as texts. Pure. */
import type { FailureCode, Intent, SwapIntent } from './events.ts'

/** SwapRouter02, V2 routers, and `unwrapWETH9` with less than its minimum. */
const SLIPPAGE =
  /Too little received|Too much requested|INSUFFICIENT_OUTPUT_AMOUNT|EXCESSIVE_INPUT_AMOUNT|Insufficient WETH9/
const DEADLINE = /Transaction too old|UniswapV2Router: EXPIRED/
/** The router could not take the sold token. */
const NOT_TAKEN = /\bSTF\b|TRANSFER_FROM_FAILED|transferFrom failed/

/** The guard quotes what a route or a token said, which may be anything. */
const QUOTED = /^The (route failed|token 0x[0-9a-fA-F]{40} refused): /

type Failure = { readonly code: string; readonly message: string }

export type SwapFailureCode = 'slippage_exceeded' | 'deadline_passed' | 'allowance_missing'

/**
 * `slippage_exceeded`, `deadline_passed` or `allowance_missing` in place of `execution_reverted`; other codes unchanged.
 * An exact output whose allowance is its maximum reverts like a missing approval when it would cost more: the router
 * takes the token before it compares.
 */
export function swapFailureCode<Code extends string>(
  { code, message }: { readonly code: Code; readonly message: string },
  { amountType }: Pick<SwapIntent, 'amountType'>,
): Code | SwapFailureCode {
  if (code !== 'execution_reverted' || QUOTED.test(message)) return code
  if (SLIPPAGE.test(message)) return 'slippage_exceeded'
  if (DEADLINE.test(message)) return 'deadline_passed'
  if (!NOT_TAKEN.test(message)) return code
  return amountType === 'exact_output' ? 'slippage_exceeded' : 'allowance_missing'
}

/** The code of a failure as the API shows it. */
export function shownFailureCode(
  failure: { readonly code: FailureCode; readonly message: string },
  { swap }: Pick<Intent, 'swap'>,
): FailureCode | SwapFailureCode {
  return swap === undefined ? failure.code : swapFailureCode(failure, swap)
}

/** A failure with the code of swaps. Where routers give one reason for several causes, the message names all of them. */
export function swapFailure(failure: Failure, swap: Pick<SwapIntent, 'amountType'>): Failure {
  const code = swapFailureCode(failure, swap)
  if (code === 'execution_reverted' || failure.code !== 'execution_reverted' || !NOT_TAKEN.test(failure.message))
    return { code, message: failure.message }
  const cause =
    swap.amountType === 'exact_output' ? 'the swap costs more than its maximum' : 'its allowance or balance was changed'
  const message = `The router could not take the sold token (${failure.message}): ${cause}, or the token is paused or refuses the wallet or the router.`
  return { code, message }
}
