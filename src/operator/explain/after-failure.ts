/** What to do after a transaction failed, by the code of its failure. Pure. */

import { typesTakingMore } from '../../transactions/kinds.ts'
import { explainParts, shownFailure } from '../../transactions/parts.ts'
import type { KnownTransaction } from '../../transactions/state.ts'
import { type NextStep, step } from '../finding.ts'
import { bursar } from '../words.ts'

const AGAIN = step(
  'Fix the cause, then send a new request with a new Idempotency-Key. This transaction does not change any more.',
)

/** What happened, in one sentence with its code, and the next steps. */
export function afterFailure(transaction: KnownTransaction): { readonly says: string; readonly next: NextStep[] } {
  const { failure, state, intent, inclusion } = transaction
  if (failure === null) return { says: `It ended: ${state}`, next: [AGAIN] }
  const code = shownFailure(failure, intent, intent.to).code
  const cost = inclusion?.succeeded === false ? ' Its gas was paid, and nothing else changed on chain.' : ''
  const first = firstStep(code, transaction)
  return {
    says: `It ended with ${code}: ${sentence(failure.message)}${cost}`,
    next: [...(first === null ? [] : [first]), AGAIN],
  }
}

function firstStep(code: string, { type, intent }: KnownTransaction): NextStep | null {
  const { dependsOn } = intent
  const [said] = explainParts(intent, ({ afterFailure }, part) => afterFailure(code, part) ?? []).flat()
  if (said !== undefined) return step(said.text, said.see === null ? null : bursar(`explain ${said.see}`))
  switch (code) {
    case 'dependency_failed':
      return dependsOn === null
        ? null
        : step('See why the transaction that it depends on failed.', bursar(`explain ${dependsOn}`))
    case 'execution_reverted':
      return typesTakingMore().includes(type)
        ? step('Send the same call with mode simulate: the answer has the decoded error at the newest block.')
        : null
    case 'expired':
      return step('Send the new request with a later valid_until.', null)
    default:
      return null
  }
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
