/** Gauges that an operator watches: jobs by state, transactions by state, how far the chains were walked. */
import type { Kernel } from './kernel.ts'

export function addOperatorGauges({ metrics, jobs, pool }: Kernel): void {
  metrics.addGauge('bursar_jobs', 'Jobs by queue and state.', ['queue', 'state'], async () => {
    const counts = await jobs.counts()
    return Object.entries(counts).flatMap(([queue, states]) =>
      Object.entries(states).map(([state, value]) => ({ labels: { queue, state }, value })),
    )
  })
  metrics.addGauge(
    'bursar_transactions_pending',
    'Transactions that have not ended, by network and state.',
    ['network', 'state'],
    async () => {
      const { rows } = await pool.query<{ network: string; state: string; n: string }>(
        `SELECT network, state, count(*) AS n FROM transactions
        WHERE state IN ('requested', 'signed', 'submitted', 'replaced', 'reorged', 'awaiting_funds') GROUP BY 1, 2`,
      )
      return rows.map(({ network, state, n }) => ({ labels: { network, state }, value: Number(n) }))
    },
  )
  metrics.addGauge('bursar_chain_lag_blocks', 'Blocks of a chain that are not walked yet.', ['chain_id'], async () => {
    const { rows } = await pool.query<{ chain_id: number; lag: string }>(
      'SELECT chain_id, greatest(head - number, 0) AS lag FROM chain_cursors',
    )
    return rows.map(({ chain_id, lag }) => ({ labels: { chain_id: String(chain_id) }, value: Number(lag) }))
  })
}
