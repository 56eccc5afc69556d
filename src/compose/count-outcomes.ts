/** Counts what became of transactions and of observed transfers, after it is in the log. */
import { observedTransferAggregate } from '../activity/aggregate.ts'
import type { TransferState } from '../activity/state.ts'
import type { Decision } from '../event-log/aggregate.ts'
import type { Metrics } from '../http/metrics.ts'
import { shownFailure } from '../transactions/parts.ts'
import { FINAL_STATES, type TransactionState } from '../transactions/state.ts'

const ENDED: ReadonlySet<string> = new Set(FINAL_STATES)
const OBSERVED = `${observedTransferAggregate.category}-`

/** For the decisions of one commit. An end that a reorg revoked is counted again when the transaction ends again. */
export function countOutcomes(metrics: Pick<Metrics, 'count'>, decisions: readonly Decision[]): void {
  for (const { events, after } of decisions) {
    const streamId = events[0]?.streamId ?? ''
    if (streamId.startsWith('transaction-')) countEnded(metrics, after.state as TransactionState)
    else if (streamId.startsWith(OBSERVED)) countObserved(metrics, after.state as TransferState)
  }
}

function countEnded(metrics: Pick<Metrics, 'count'>, transaction: TransactionState): void {
  // Nothing is decided about a transaction that stays ended: such a change ends it.
  if (transaction.state === 'unknown' || !ENDED.has(transaction.state)) return
  const { type, intent, state, failure } = transaction
  const outcome = failure === null ? state : shownFailure(failure, intent, intent.to).code
  metrics.count('bursar_transactions_ended_total', { network: intent.network, type, outcome })
}

function countObserved(metrics: Pick<Metrics, 'count'>, observed: TransferState): void {
  if (observed.status === 'unknown') return
  const { network, direction } = observed.transfer
  metrics.count('bursar_observed_transfers_total', { network, direction, status: observed.status })
}
