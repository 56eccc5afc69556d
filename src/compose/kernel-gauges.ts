/** Gauges of what no capability owns: jobs by state, and open transactions of the database. */
import { openFor, readOpenTransactions } from '../event-log/open-transactions.ts'
import type { Kernel } from './kernel.ts'

export function addKernelGauges({ metrics, jobs, pool }: Kernel): void {
  metrics.addGauge('bursar_jobs', 'Jobs by queue and state.', ['queue', 'state'], async () => {
    const counts = await jobs.counts()
    return Object.entries(counts).flatMap(([queue, states]) =>
      Object.entries(states).map(([state, value]) => ({ labels: { queue, state }, value })),
    )
  })
  metrics.addGauge(
    'bursar_oldest_open_transaction_seconds',
    'Age in seconds of the oldest open database transaction that delays readers of the event log. It can be in any database of the server. 0 if there is none.',
    [],
    async () => {
      const [oldest] = openFor(await readOpenTransactions(pool), 0)
      return [{ labels: {}, value: (oldest?.openMs ?? 0) / 1_000 }]
    },
  )
}
