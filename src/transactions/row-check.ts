/**
 * Whether a transaction's row matches the fold of its stream. Signers take nothing from the row, but a difference shows
 * that somebody wrote to the database, or forged the stream without its row: nothing is signed then.
 */
import type { Pool } from 'pg'
import { gathering } from '../core/gathering.ts'
import type { Loaded } from '../event-log/aggregate.ts'
import { isConnectionFailure } from '../event-log/database-errors.ts'
import type { Row } from '../event-log/table-rows.ts'
import { transactionAggregate } from './aggregate.ts'
import type { TransactionState } from './state.ts'

/** Columns that no later event changes. */
const FIXED = [
  'tenant_id',
  'wallet_id',
  'chain_id',
  'type',
  'from_address',
  'to_address',
  'asset_id',
  'asset_contract',
  'amount',
  'depends_on',
  'valid_until',
] as const
/** Columns of the newest event: compared when the row has the same version. */
const NEWEST = ['state', 'nonce', 'hash'] as const

const COLUMNS = [...FIXED, ...NEWEST] as const

export type RecordedRow = Pick<Row<'transactions'>, 'version' | (typeof COLUMNS)[number]>

/** By transaction; those without a row are missing. */
export type RowsOf = (transactionIds: readonly string[]) => Promise<ReadonlyMap<string, RecordedRow>>

export function createRowsOf(pool: Pool): RowsOf {
  const read = gathering(
    async (ids: readonly string[]) => {
      const { rows } = await pool.query<RecordedRow & Pick<Row<'transactions'>, 'transaction_id'>>({
        name: 'recorded_rows',
        text: `SELECT transaction_id, version, ${COLUMNS.join(', ')} FROM transactions WHERE transaction_id = ANY($1)`,
        values: [ids],
      })
      const found = new Map(rows.map((row) => [row.transaction_id, row]))
      return ids.map((id) => found.get(id))
    },
    { isShared: isConnectionFailure },
  )
  return async (ids) =>
    new Map((await read(ids)).flatMap((row) => (row === undefined ? [] : [[row.transaction_id, row] as const])))
}

/**
 * What is wrong with a row; `null` when it matches. Pure.
 *
 * @param row read after the stream: it may be newer
 */
export function rowProblem(
  { id, state, version }: Loaded<TransactionState>,
  row: RecordedRow | undefined,
): string | null {
  if (state.state === 'unknown') return null
  if (row === undefined) return 'the transaction has events but no row in the table transactions'
  if (row.version < version) return `the row is at version ${row.version}, but its stream is at version ${version}`
  const context = { id, tenantId: state.intent.tenantId, version, recordedAt: '' }
  const expected = transactionAggregate.project({ state: 'unknown' }, state, context).rows[0]?.row
  const columns = row.version === version ? COLUMNS : FIXED
  const column = columns.find((name) => textOf(row[name]) !== textOf(expected?.[name]))
  if (column === undefined) return null
  return `the column ${column} of its row is ${textOf(row[column])}, but its events give ${textOf(expected?.[column])}`
}

/** The same text for an instant in any notation, and for a number of any type. */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null
  if (value instanceof Date) return value.toISOString()
  const text = String(value)
  return /^\d{4}-\d\d-\d\dT/.test(text) ? new Date(text).toISOString() : text
}
