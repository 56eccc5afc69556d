/** The outcome of one transaction, as of the newest processed block. */
import type { Pool } from 'pg'
import { TRANSACTIONS } from '../../transactions/sql.ts'
import { type Outcome, outcomeOf, type TransactionFate } from '../outcome.ts'

/** @throws Error for an unknown transaction: one named by an event always exists */
export type FateOf = (transactionId: string) => Promise<Outcome>

export function createFateOf(pool: Pool): FateOf {
  return async (transactionId) => {
    const { rows } = await pool.query<TransactionFate>({
      name: 'fate_of_transaction',
      text: `SELECT state, succeeded FROM ${TRANSACTIONS} AS transactions WHERE transaction_id = $1`,
      values: [transactionId],
    })
    const [row] = rows
    if (row === undefined) throw new Error(`transaction ${transactionId} does not exist`)
    return outcomeOf(row)
  }
}
