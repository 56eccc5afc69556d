/** What is decided about a swap, and its read model: its row. Pure. */
import { Conflict } from '../core/errors.ts'
import type { Decider } from '../core/messages.ts'
import { type Aggregate, opensItself } from '../event-log/aggregate.ts'
import type { Swap, SwapEvent } from './events.ts'

export type SwapState = { readonly state: 'unknown' } | { readonly state: 'recorded'; readonly swap: Swap }

type SwapCommand = { readonly type: 'RecordSwap'; readonly swap: Swap }

/** A swap is requested once; its transactions do the rest. */
const swapDecider: Decider<SwapState, SwapCommand, SwapEvent> = {
  initialState: { state: 'unknown' },
  decide({ swap }, state) {
    if (state.state !== 'unknown') throw new Conflict('swap_exists', 'A swap with this id already exists.')
    return [{ type: 'SwapRecorded', data: swap }]
  },
  evolve: (_before, { data }) => ({ state: 'recorded', swap: data }),
}

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
