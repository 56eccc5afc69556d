/** Bans of parties, and the keys that are made ahead. */
import type { Gauge } from '../capability.ts'

export const mpcKeyGauges: readonly Gauge[] = [
  {
    process: 'api',
    name: 'bursar_mpc_banned_keys',
    help: 'Keys that a party is banned from signing with, by party.',
    labels: ['party'],
    async read({ pool }) {
      const { rows } = await pool.query<{ party: string; n: string }>(
        `SELECT party, count(*) AS n FROM mpc_keys, jsonb_array_elements_text(banned) AS party WHERE banned <> '[]' GROUP BY 1`,
      )
      return rows.map(({ party, n }) => ({ labels: { party }, value: Number(n) }))
    },
  },
  {
    process: 'api',
    name: 'bursar_mpc_pool_keys',
    help: 'Unassigned mpc keys in the key pool.',
    labels: [],
    async read({ pool }) {
      const { rows } = await pool.query<{ n: string }>('SELECT count(*) AS n FROM mpc_keys WHERE wallet_id IS NULL')
      return rows.map(({ n }) => ({ labels: {}, value: Number(n) }))
    },
  },
]
