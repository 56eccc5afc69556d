/** Whether a chain has transactions with signed bytes that are in no block: only their nonces can be lost. */
import type { Pool } from 'pg'
import { isInFlight } from './sql.ts'

export async function hasInFlight(pool: Pool, chainId: number): Promise<boolean> {
  const { rows } = await pool.query<{ some: boolean }>({
    name: 'some_in_flight',
    text: `SELECT EXISTS (SELECT FROM transactions WHERE chain_id = $1 AND ${isInFlight('transactions')}) AS some`,
    values: [chainId],
  })
  return rows[0]?.some === true
}
