/**
 * Gauges for operators: jobs and transactions by state, the cursors of chains, the keys of mpc wallets, open
 * transactions.
 */
import { openFor, readOpenTransactions } from '../event-log/open-transactions.ts'
import { CURSORS } from '../follower/sql.ts'
import { MPC_KEYS } from '../mpc-wallets/sql.ts'
import { TRANSACTIONS, UNMINED } from '../transactions/sql.ts'
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
    'Unfinished transactions, by network and state.',
    ['network', 'state'],
    async () => {
      const { rows } = await pool.query<{ network: string; state: string; n: string }>(
        `SELECT network, state, count(*) AS n FROM ${TRANSACTIONS} AS transactions
        WHERE state IN ${UNMINED} GROUP BY 1, 2`,
      )
      return rows.map(({ network, state, n }) => ({ labels: { network, state }, value: Number(n) }))
    },
  )
  metrics.addGauge(
    'bursar_chain_lag_blocks',
    'Blocks between the head of the chain and the newest processed block.',
    ['chain_id'],
    async () => {
      const { rows } = await pool.query<{ chain_id: number; lag: string }>(
        `SELECT chain_id, greatest(head - number, 0) AS lag FROM ${CURSORS} AS chain_cursors`,
      )
      return rows.map(({ chain_id, lag }) => ({ labels: { chain_id: String(chain_id) }, value: Number(lag) }))
    },
  )
  metrics.addGauge(
    'bursar_mpc_banned_keys',
    'Keys that a party is banned from signing with, by party.',
    ['party'],
    async () => {
      const { rows } = await pool.query<{ party: string; n: string }>(
        `SELECT party, count(*) AS n FROM ${MPC_KEYS} AS mpc_keys, jsonb_array_elements_text(banned) AS party WHERE banned <> '[]' GROUP BY 1`,
      )
      return rows.map(({ party, n }) => ({ labels: { party }, value: Number(n) }))
    },
  )
  metrics.addGauge('bursar_mpc_pool_keys', 'Unassigned mpc keys in the key pool.', [], async () => {
    const { rows } = await pool.query<{ n: string }>(
      `SELECT count(*) AS n FROM ${MPC_KEYS} AS mpc_keys WHERE wallet_id IS NULL`,
    )
    return rows.map(({ n }) => ({ labels: {}, value: Number(n) }))
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
