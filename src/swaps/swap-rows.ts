/** Reads recorded swaps: the last one in the order of an allowance, and the transaction that answers a request. */
import type { Pool } from 'pg'
import { NotFound } from '../core/errors.ts'
import type { Row } from '../event-log/table-rows.ts'
import { TRANSACTIONS, UNMINED } from '../transactions/sql.ts'

/** The allowance that swaps share: what a spender may take of a token. */
export type AllowanceKey = { readonly walletId: string; readonly token: string; readonly spender: string }

export type LastSwap = {
  readonly swapId: string
  readonly sequence: number
  /** Whether one of its transactions is in no block and can still be. */
  readonly isOpen: boolean
}

/** The swap with the highest sequence; `null` when there is none. */
export async function readLastSwap(pool: Pool, { walletId, token, spender }: AllowanceKey): Promise<LastSwap | null> {
  const { rows } = await pool.query<
    Pick<Row<'swaps', { readonly sequence: number }>, 'swap_id' | 'sequence'> & { is_open: boolean }
  >({
    name: 'last_swap',
    text: `SELECT s.swap_id, s.sequence,
             EXISTS (SELECT FROM jsonb_array_elements_text(s.approval_ids || to_jsonb(s.transaction_id)) AS id
               JOIN ${TRANSACTIONS} x ON x.transaction_id = id WHERE x.state IN ${UNMINED}) AS is_open
             FROM swaps s WHERE s.wallet_id = $1 AND s.token = $2 AND s.spender = $3 ORDER BY s.sequence DESC LIMIT 1`,
    values: [walletId, token, spender],
  })
  const [row] = rows
  return row === undefined ? null : { swapId: row.swap_id, sequence: row.sequence, isOpen: row.is_open }
}

/** The transaction that makes the swap. @throws NotFound */
export async function transactionOfSwap(pool: Pool, swapId: string): Promise<string> {
  const { rows } = await pool.query<Pick<Row<'swaps'>, 'transaction_id'>>({
    name: 'transaction_of_swap',
    text: 'SELECT transaction_id FROM swaps WHERE swap_id = $1',
    values: [swapId],
  })
  const [row] = rows
  if (row === undefined) throw new NotFound('swap')
  return row.transaction_id
}
