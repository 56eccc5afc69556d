/** What transactions do. Their lanes, which every capability that sends uses, are composed in `compose`. */
import type { Capability, Gauge } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import type { Row } from '../event-log/table-rows.ts'
import { transactionAggregate } from './aggregate.ts'
import { transactionKinds } from './opening-rules.ts'
import { isUnmined, TRANSACTIONS, UNMINED_OF_TENANT } from './sql.ts'
import { tagKeyAggregate } from './tag-key-aggregate.ts'

/** How many transactions have not ended. */
const pendingTransactions: Gauge = {
  process: 'api',
  name: 'bursar_transactions_pending',
  help: 'Unfinished transactions, by network and state.',
  labels: ['network', 'state'],
  async read({ pool }) {
    const { rows } = await pool.query<Pick<Row<'transactions'>, 'network' | 'state'> & { n: string }>(
      `SELECT network, state, count(*) AS n FROM ${TRANSACTIONS} AS transactions WHERE ${isUnmined('transactions')} GROUP BY 1, 2`,
    )
    return rows.map(({ network, state, n }) => ({ labels: { network, state }, value: Number(n) }))
  },
}

export const transactions: Capability = {
  aggregates: [anyAggregate(transactionAggregate), anyAggregate(tagKeyAggregate)],
  kinds: transactionKinds,
  publishes: async () => [(await import('./published.ts')).publishedTransactions()],
  explains: [
    { prefix: 'batch', noun: 'batch of transfers', transactionsOf: 'transfer_batch', aggregate: null, texts: {} },
  ],
  gauges: [pendingTransactions],
  place: 30,
  routes: async () => (await import('./transfer-routes.ts')).transactionApi,
  usage: { transactions_waiting: UNMINED_OF_TENANT },
}
