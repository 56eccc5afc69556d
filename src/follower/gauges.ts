/** How far the follower is behind each chain, and for how long it has not moved. */
import type { Gauge } from '../capability.ts'
import type { Row } from '../event-log/table-rows.ts'

export const chainLag: Gauge = {
  process: 'api',
  name: 'bursar_chain_lag_blocks',
  help: 'Blocks between the head of the chain and the newest processed block.',
  labels: ['chain_id'],
  async read({ pool }) {
    const { rows } = await pool.query<Pick<Row<'chain_cursors'>, 'chain_id'> & { lag: string }>(
      'SELECT chain_id, greatest(head - number, 0) AS lag FROM chain_cursors',
    )
    return rows.map(({ chain_id, lag }) => ({ labels: { chain_id: String(chain_id) }, value: Number(lag) }))
  },
}

export const chainStalls: Gauge = {
  process: 'api',
  name: 'bursar_chain_stalled_seconds',
  help: 'Seconds since the follower of a chain moved last, where it does not move although it should.',
  labels: ['chain_id'],
  async read({ pool }) {
    const { rows } = await pool.query<Pick<Row<'chain_stalls'>, 'chain_id'> & { seconds: number }>(
      'SELECT chain_id, extract(epoch FROM clock_timestamp() - since)::double precision AS seconds FROM chain_stalls',
    )
    return rows.map(({ chain_id, seconds }) => ({ labels: { chain_id: String(chain_id) }, value: seconds }))
  },
}
