/** Metrics of what became of requests, transactions and observed transfers. */
import { Counter, type Registry } from 'prom-client'

export type OutcomeMetrics = {
  /** One request of a swap or a contract call. @param request `outcome` is `accepted`, `repeated`, or the code of the error */
  readonly countRequested: (request: { readonly kind: 'swap' | 'contract_call'; readonly outcome: string }) => void
  /** One transaction that ended. @param ended `outcome` is `confirmed`, `cancelled`, or the code of the failure */
  readonly countEnded: (ended: { readonly network: string; readonly type: string; readonly outcome: string }) => void
  /** One event of an observed transfer. @param observed `status` is `detected`, `confirmed` or `orphaned` */
  readonly countObserved: (observed: {
    readonly network: string
    readonly direction: string
    readonly status: string
  }) => void
}

export function createOutcomeMetrics(registry: Registry): OutcomeMetrics {
  const registers = [registry]
  const requests = new Counter({
    name: 'bursar_call_requests_total',
    help: 'Requests that send a swap or a contract call, by outcome: `accepted`, `repeated`, or the code of the error.',
    labelNames: ['kind', 'outcome'],
    registers,
  })
  const ended = new Counter({
    name: 'bursar_transactions_ended_total',
    help: 'Transactions whose end this process recorded, by outcome: `confirmed`, `cancelled`, or the code of the failure.',
    labelNames: ['network', 'type', 'outcome'],
    registers,
  })
  const observed = new Counter({
    name: 'bursar_observed_transfers_total',
    help: 'Transfers to and from wallets that the follower recorded: `detected` in a block, `confirmed`, or `orphaned` by a reorg.',
    labelNames: ['network', 'direction', 'status'],
    registers,
  })
  return {
    countRequested: (labels) => requests.inc(labels),
    countEnded: (labels) => ended.inc(labels),
    countObserved: (labels) => observed.inc(labels),
  }
}
