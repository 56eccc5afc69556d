/** What activity does: it records transfers to and from wallets, and lists them. The follower observes them in `compose`. */
import { type Capability, explained } from '../capability.ts'
import { formatAmount } from '../core/money.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { observedTransferAggregate } from './aggregate.ts'
import type { TransferObserved } from './events.ts'

/** How `explain` reports an observed transfer. */
const explainedTransfer = explained(observedTransferAggregate, {
  prefix: 'obs',
  noun: 'observed transfer',
  texts: {
    TransferObserved: ({ direction, amount, asset, walletId, counterparty, hash, blockNumber, valuation }) => {
      const value = valuation === null ? 'price unknown' : `${valuation.usd} US dollars`
      const other = counterparty ?? 'a new contract'
      const moved = `${formatAmount(BigInt(amount), asset.decimals)} ${asset.symbol} (${value})`
      return direction === 'in'
        ? `${walletId} received ${moved} from ${other} in block ${blockNumber}, transaction ${hash}`
        : `${moved} left ${walletId} for ${other} in block ${blockNumber}, transaction ${hash}`
    },
    TransferConfirmed: ({ blockNumber, confirmations }) =>
      `block ${blockNumber} has ${confirmations} confirmations: confirmed`,
    TransferOrphaned: ({ blockNumber, wasConfirmed }) =>
      `reorg: block ${blockNumber} is no longer in the chain${wasConfirmed ? ', after the transfer was confirmed' : ''}`,
  },
})

const aggregate = anyAggregate(observedTransferAggregate)

export const activity: Capability = {
  aggregates: [aggregate],
  publishes: async () => [(await import('./published.ts')).publishedTransfers],
  explains: [explainedTransfer],
  verified: [{ table: 'observed_transfers', aggregate, streamOf: `'observed-' || r.transfer_id` }],
  past: {
    passing: {
      TransferObserved: ({ asset: { assetId }, valuation }: TransferObserved['data']) =>
        valuation === null ? [] : [{ is: 'price', assetId, price: { usd: valuation.price, at: valuation.priceAt } }],
    },
  },
  routes: async () => (await import('./routes.ts')).activityRoutes,
}
