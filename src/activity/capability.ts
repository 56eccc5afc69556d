/** What activity does: it records transfers to and from wallets, and lists them. The follower observes them in `compose`. */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { observedTransferAggregate } from './aggregate.ts'
import type { TransferObserved } from './events.ts'
import { explainedTransfer } from './explained.ts'

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
