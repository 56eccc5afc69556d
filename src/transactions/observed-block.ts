/**
 * The newest block at which a balance of an address was read. A transaction accepted on these balances is permanently
 * refused only by a node that has seen the block.
 */
import type { Pool } from 'pg'
import { WALLETS } from '../wallets/sql.ts'
import type { Lane } from './lanes.ts'

/** 0 when no balance was read yet. */
export type ObservedBlock = (lane: Lane) => Promise<number>

export function createObservedBlock(pool: Pool): ObservedBlock {
  return async ({ chainId, address }) => {
    const { rows } = await pool.query<{ block: string | null }>({
      name: 'observed_block',
      text: `SELECT max(b.block_number) AS block FROM ${WALLETS} w JOIN balances b ON b.wallet_id = w.wallet_id
              WHERE w.chain_id = $1 AND w.address = $2`,
      values: [chainId, address],
    })
    return Number(rows[0]?.block ?? 0)
  }
}
