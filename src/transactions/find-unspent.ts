/** Which transactions have ended without spending anything, and cannot any more. */
import type { Pool } from 'pg'
import type { Row } from '../event-log/table-rows.ts'

/** Failed, or cancelled without a block: no reorg brings them back, as it can those that are in a block. */
export async function findUnspent(pool: Pool, transactionIds: readonly string[]): Promise<ReadonlySet<string>> {
  if (transactionIds.length === 0) return new Set()
  const { rows } = await pool.query<Pick<Row<'transactions'>, 'transaction_id'>>({
    name: 'unspent_transactions',
    text: `SELECT transaction_id FROM transactions
            WHERE transaction_id = ANY ($1) AND (state = 'failed' OR (state = 'cancelled' AND block_number IS NULL))`,
    values: [transactionIds],
  })
  return new Set(rows.map((row) => row.transaction_id))
}
