/**
 * The newest block at which a balance of an address was read. A transaction accepted on these balances is permanently
 * refused only by a node that has seen the block.
 */
import type { Pool } from 'pg'
import { gathering } from '../core/gathering.ts'
import { isConnectionFailure } from '../event-log/database-errors.ts'
import { WALLETS } from '../wallets/sql.ts'
import type { Lane } from './lanes.ts'

/** 0 when no balance was read yet. */
export type ObservedBlock = (lane: Lane) => Promise<number>

export function createObservedBlock(pool: Pool): ObservedBlock {
  const read = gathering(
    async (lanes: readonly Lane[]) => {
      const { rows } = await pool.query<{ block: string | null }>({
        name: 'observed_block',
        text: `SELECT own.block FROM unnest($1::integer[], $2::text[]) WITH ORDINALITY AS lane(chain_id, address, n)
                CROSS JOIN LATERAL (SELECT max(b.block_number) AS block FROM ${WALLETS} w JOIN balances b ON b.wallet_id = w.wallet_id
                  WHERE w.chain_id = lane.chain_id AND lower(w.address) = lower(lane.address)) AS own ORDER BY lane.n`,
        values: [lanes.map(({ chainId }) => chainId), lanes.map(({ address }) => address)],
      })
      return rows.map(({ block }) => Number(block ?? 0))
    },
    { isShared: isConnectionFailure },
  )
  return async (lane) => (await read([lane]))[0] ?? 0
}
