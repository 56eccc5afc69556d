/** What transactions do. Their lanes, which every capability that sends uses, are composed in `compose`. */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { transactionAggregate } from './aggregate.ts'
import { pendingTransactions } from './gauges.ts'
import { transactionRules } from './opening-rules.ts'
import { UNMINED_OF_TENANT } from './sql.ts'
import { tagKeyAggregate } from './tag-key-aggregate.ts'

export const transactions: Capability = {
  aggregates: [anyAggregate(transactionAggregate), anyAggregate(tagKeyAggregate)],
  openingRules: transactionRules,
  publishes: async () => [(await import('./published.ts')).publishedTransactions],
  explains: [
    { kind: 'transferBatch', noun: 'batch of transfers', transactionsOf: 'transfer_batch', aggregate: null, texts: {} },
  ],
  gauges: [pendingTransactions],
  usage: { transactions_waiting: UNMINED_OF_TENANT },
}
