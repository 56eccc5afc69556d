/** Reports to operators what reorgs undid, after it is in the log: above all, outcomes that were reported to owners. */
import type { FollowStep } from '../chain/follow.ts'
import type { Change } from '../event-log/aggregate.ts'
import type { Metrics } from '../http/metrics.ts'
import type { TransactionState } from '../transactions/state.ts'
import type { Kernel } from './kernel.ts'

export type ReorgReport = {
  /** Call with the changes before they are appended, again on each retry. */
  readonly unwound: (changes: readonly Change<TransactionState>[]) => void
  /** Call with each step after it is in the log. */
  readonly committed: (step: FollowStep) => void
}

export function createReorgReport({
  network,
  logger,
  metrics,
}: {
  readonly network: string
  readonly logger: Pick<Kernel['logger'], 'warn' | 'error'>
  readonly metrics: Pick<Metrics, 'countReorg' | 'countRevoked'>
}): ReorgReport {
  let undone: readonly Change<TransactionState>[] = []
  return {
    unwound: (changes) => {
      undone = changes
    },
    committed(step) {
      if (step.type !== 'reorg') return
      const { from, to, depth, beyondWindow } = step
      const fields = { network, from, to, depth, transactions: undone.length }
      metrics.countReorg({ network, beyondWindow })
      if (beyondWindow)
        logger.error(
          fields,
          'reorg deeper than the recorded block hashes; check the node, then the transactions that were rolled back',
        )
      else logger.warn(fields, 'reorg; rolled back the affected transactions')
      for (const { after } of undone) {
        const revoked = after.state.state === 'unknown' ? undefined : after.state.history.at(-1)?.revoked
        if (revoked === undefined) continue
        metrics.countRevoked({ network, outcome: revoked.state })
        const told = { network, transaction_id: after.id, outcome: revoked.state, confirmations: revoked.confirmations }
        logger.error(told, 'reorg revoked a reported outcome: the block of the transaction is no longer in the chain')
      }
      undone = []
    },
  }
}
