/** What to do after a transaction failed, by the code of its failure. Pure. */
import type { FailureCode } from '../../transactions/events.ts'
import type { KnownTransaction } from '../../transactions/state.ts'
import { type SwapFailureCode, shownFailureCode } from '../../transactions/swap-failure.ts'
import { type NextStep, step } from '../finding.ts'
import { bursar } from '../words.ts'

const AGAIN = step(
  'Fix the cause, then send a new request with a new Idempotency-Key. This transaction does not change any more.',
)

/** What happened, in one sentence with its code, and the next steps. */
export function afterFailure(transaction: KnownTransaction): { readonly says: string; readonly next: NextStep[] } {
  const { failure, state, intent, inclusion } = transaction
  if (failure === null) return { says: `It ended: ${state}`, next: [AGAIN] }
  const code = shownFailureCode(failure, intent)
  const cost = inclusion?.succeeded === false ? ' Its gas was paid, and nothing else changed on chain.' : ''
  const first = firstStep(code, transaction)
  return {
    says: `It ended with ${code}: ${sentence(failure.message)}${cost}`,
    next: [...(first === null ? [] : [first]), AGAIN],
  }
}

function firstStep(code: FailureCode | SwapFailureCode, { type, intent }: KnownTransaction): NextStep | null {
  const { swap, dependsOn } = intent
  switch (code) {
    case 'slippage_exceeded':
      return step('The price moved. Request a new quote, with a larger slippage_bps if the difference is acceptable.')
    case 'deadline_passed':
      return step('Its block was too late. Request a new quote, with a larger deadline_seconds or gas priority.')
    case 'allowance_missing':
      return step(
        'The router could not take the token. Check that no other program spends from the wallet, and that the token is not paused.',
        swap?.approvalTransactionId == null ? null : bursar(`explain ${swap.approvalTransactionId}`),
      )
    case 'dependency_failed':
      return dependsOn === null
        ? null
        : step('See why the transaction that it depends on failed.', bursar(`explain ${dependsOn}`))
    case 'execution_reverted':
      return type === 'CONTRACT'
        ? step('Send the same call with mode simulate: the answer has the decoded error at the newest block.')
        : null
    case 'expired':
      return step(
        swap === undefined
          ? 'Send the new request with a later valid_until.'
          : 'It was not signed in time. Request a new quote, and see the lane if this happens again.',
        null,
      )
    default:
      return null
  }
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
