/** Waiting transactions that no signer signs because their records are inconsistent. Read only. */
import type { Pool } from 'pg'
import type { Row } from '../../event-log/table-rows.ts'
import type { CheckRecorded } from '../../transactions/check-recorded.ts'
import { isWaiting, TRANSACTIONS } from '../../transactions/sql.ts'

export type Unsound = { readonly id: string; readonly reason: string }

/** The oldest ones: a refused transaction stays waiting and becomes one of them. */
const MAX_LOOKED_AT = 200

/** @param check the check that signers use */
export async function findUnsound(pool: Pool, check: CheckRecorded): Promise<readonly Unsound[]> {
  const { rows } = await pool.query<{ id: Row<'transactions'>['transaction_id'] }>({
    name: 'operator_waiting',
    text: `SELECT transaction_id AS id FROM ${TRANSACTIONS} AS transactions WHERE ${isWaiting('transactions')} ORDER BY transaction_id LIMIT ${MAX_LOOKED_AT}`,
  })
  const checked = await check(rows.map(({ id }) => id))
  return checked.flatMap(({ loaded, problem }) => (problem === null ? [] : [{ id: loaded.id, reason: problem }]))
}
