/** Why a swap failed, as a stable code and a message: routers give reasons as texts. Pure. */

import type { Failure } from '../transactions/events.ts'
import { GUARD_ADDRESS } from './contracts/guard.ts'
import type { SwapIntent } from './part.ts'

/** SwapRouter02, V2 routers, and `unwrapWETH9` with less than its minimum. */
const SLIPPAGE =
  /Too little received|Too much requested|INSUFFICIENT_OUTPUT_AMOUNT|EXCESSIVE_INPUT_AMOUNT|Insufficient WETH9/
const DEADLINE = /Transaction too old|UniswapV2Router: EXPIRED/
/** The router could not take the sold token. It says so in place of the token, or of a pool that it pays. */
const NOT_TAKEN = /\bSTF\b|TRANSFER_FROM_FAILED|transferFrom failed/

/** The guard quotes what a route or a token said, which may be anything. */
const QUOTED = /^The (route failed|token 0x[0-9a-fA-F]{40} refused): /

/** @param revertedBy as recorded: the contract that reverted; `null` where no node said it, missing in older events */
type Reverted<Code extends string> = {
  readonly code: Code
  readonly message: string
  readonly revertedBy?: string | null | undefined
}

export type SwapFailureCode = 'slippage_exceeded' | 'deadline_passed' | 'allowance_missing'

/** What failed: the kind of the swap, and the router that it calls. */
export type FailedSwap = { readonly amountType: SwapIntent['amountType']; readonly router: string }

/**
 * `slippage_exceeded`, `deadline_passed` or `allowance_missing` in place of `execution_reverted`; other codes unchanged.
 * An exact output whose allowance is its maximum reverts like a missing approval when it would cost more: the router
 * takes the token before it compares. A text that another contract than the router gave means nothing.
 */
export function swapFailureCode<Code extends string>(
  { code, message, revertedBy }: Reverted<Code>,
  { amountType, router }: FailedSwap,
): Code | SwapFailureCode {
  if (code !== 'execution_reverted' || QUOTED.test(message)) return code
  if (NOT_TAKEN.test(message)) return amountType === 'exact_output' ? 'slippage_exceeded' : 'allowance_missing'
  if (revertedBy != null && !isSame(revertedBy, router)) return code
  if (SLIPPAGE.test(message)) return 'slippage_exceeded'
  return DEADLINE.test(message) ? 'deadline_passed' : code
}

/**
 * Whether the code only guesses: the text of the revert is one of a router, and it is unknown whether the router said
 * it, or it stands for several causes. The guard passes on no text of others as its own.
 */
export function isGuessed(failure: Reverted<string>, swap: FailedSwap): boolean {
  if (swapFailureCode(failure, swap) === failure.code) return false
  if (NOT_TAKEN.test(failure.message))
    return swap.amountType === 'exact_output' || !isSame(failure.revertedBy ?? '', swap.router)
  return failure.revertedBy == null && !isSame(swap.router, GUARD_ADDRESS)
}

/** A failure with the code of swaps. Its message names every cause that the reason may have. */
export function swapFailure(failure: Failure, swap: FailedSwap): { readonly code: string; readonly message: string } {
  const code = swapFailureCode(failure, swap)
  return { code, message: failure.code === 'execution_reverted' ? messageOf(failure, swap) : failure.message }
}

/** Of older events as it always was: what was published stays the same. */
function messageOf({ code, message, revertedBy }: Failure, swap: FailedSwap): string {
  if (NOT_TAKEN.test(message) && !QUOTED.test(message)) {
    const cause =
      swap.amountType === 'exact_output'
        ? 'the swap costs more than its maximum'
        : 'its allowance or balance was changed'
    return `The router could not take the sold token (${message}): ${cause}, or the token is paused or refuses the wallet or the router.`
  }
  if (revertedBy != null && !isSame(revertedBy, swap.router))
    return `The contract ${revertedBy}, which the router called, reverted: ${message}`
  if (revertedBy === undefined || !isGuessed({ code, message, revertedBy }, swap)) return message
  return `${message} (a guess: no node said which contract reverted, and a token can use these words of a router)`
}

function isSame(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}
