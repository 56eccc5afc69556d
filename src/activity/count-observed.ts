/** How many observed transfers stand in the blocks of a chain from one on: what a reorg would take back. */
import type { Pool } from 'pg'
import { STANDS } from './sql.ts'

export async function countObservedFrom(pool: Pool, chainId: number, block: number): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM observed_transfers WHERE chain_id = $1 AND block_number >= $2 AND ${STANDS}`,
    [chainId, block],
  )
  return rows[0]?.count ?? 0
}
