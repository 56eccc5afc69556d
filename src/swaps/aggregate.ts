/** The read model of a swap: its row. Pure. */
import { type Aggregate, opensItself } from '../event-log/aggregate.ts'
import { type SwapCommand, type SwapState, swapDecider } from './decider.ts'
import type { SwapEvent } from './events.ts'

export const swapAggregate: Aggregate<SwapState, SwapCommand, SwapEvent, 'swaps'> = {
  ...swapDecider,
  category: 'swap',
  schemas: { SwapRecorded: { version: 1, upcasters: [] } },
  opens: opensItself<SwapEvent>('SwapRecorded'),
  project(_before, after, { id, version }) {
    if (after.state === 'unknown') return { rows: [], holds: [] }
    const { swap } = after
    const row = {
      swap_id: id,
      tenant_id: swap.tenantId,
      wallet_id: swap.walletId,
      quote_id: swap.quote.quoteId,
      token: swap.quote.fromAsset.contract,
      spender: swap.spender,
      sequence: swap.sequence,
      transaction_id: swap.transactionId,
      approval_ids: swap.approvalIds,
      created_at: swap.requestedAt,
      version,
    }
    return { rows: [{ table: 'swaps', row }], holds: [] }
  },
}
