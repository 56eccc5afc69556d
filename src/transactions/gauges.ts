/** How many transactions have not ended. */
import type { Gauge } from '../capability.ts'
import type { Row } from '../event-log/table-rows.ts'
import { isUnmined, TRANSACTIONS } from './sql.ts'

export const pendingTransactions: Gauge = {
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
