/** Counts transactions that ended, after their end is in the log. */
import type { Change } from '../event-log/aggregate.ts'
import type { OutcomeMetrics } from '../http/outcome-metrics.ts'
import { FINAL_STATES, type TransactionState } from '../transactions/state.ts'
import { shownFailureCode } from '../transactions/swap-failure.ts'

const ENDED: ReadonlySet<string> = new Set(FINAL_STATES)

/** For the changes of one commit. An end that a reorg revoked is counted again when the transaction ends again. */
export function createCountEnded({ countEnded }: OutcomeMetrics): (changes: readonly Change[]) => void {
  return (changes) => {
    for (const { events, after } of changes) {
      if (events[0]?.streamId.startsWith('transaction-') !== true) continue
      const transaction = after.state as TransactionState
      // Nothing is decided about a transaction that stays ended: such a change ends it.
      if (transaction.state === 'unknown' || !ENDED.has(transaction.state)) continue
      const { type, intent, state, failure } = transaction
      const outcome = failure === null ? state : shownFailureCode(failure, intent)
      countEnded({ network: intent.network, type, outcome })
    }
  }
}
