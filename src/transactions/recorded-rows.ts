/**
 * The rows of transactions, to be compared with their streams before a signature: a difference shows that somebody wrote to the
 * database, or forged the stream without its row.
 */
import type { Pool } from 'pg'
import { gathering } from '../core/gathering.ts'
import type { Loaded } from '../event-log/aggregate.ts'
import { isConnectionFailure } from '../event-log/database-errors.ts'
import { EVENTS } from '../event-log/sql.ts'
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

/** The newest event of a stream. */
export type NewestEvent = { readonly version: number; readonly hash: string }

export type RecordedRows = {
  /** By transaction; those without a row are missing. */
  readonly rows: ReadonlyMap<string, RecordedRow>
  /** By stream; those without an event are missing. */
  readonly newest: ReadonlyMap<string, NewestEvent>
}

export type RowsOf = (transactionIds: readonly string[], streamIds: readonly string[]) => Promise<RecordedRows>

/** What one statement gives of a transaction, and of a stream that has nothing to do with it. */
type Found = Partial<RecordedRow> & {
  readonly transaction_id: string | null
  readonly stream_id: string | null
  readonly stream_version: number
  readonly stream_hash: Buffer
}

export function createRowsOf(pool: Pool): RowsOf {
  const read = gathering(
    async (callers: readonly { readonly ids: readonly string[]; readonly streams: readonly string[] }[]) => {
      const [ids, streams] = [callers.flatMap((one) => one.ids), callers.flatMap((one) => one.streams)]
      const { rows } = await pool.query<Found>({
        name: 'recorded_rows',
        // LATERAL with OFFSET: one index look-up for each, whatever the statistics say.
        text: `SELECT t.*, e.* FROM unnest($1::text[], $2::text[]) AS wanted(transaction_id, stream_id)
                 LEFT JOIN LATERAL (SELECT transaction_id, version, ${COLUMNS.join(', ')} FROM transactions
                   WHERE transaction_id = wanted.transaction_id OFFSET 0) AS t ON true
                 LEFT JOIN LATERAL (SELECT stream_id, stream_version, hash AS stream_hash FROM ${EVENTS} AS events
                   WHERE stream_id = wanted.stream_id ORDER BY stream_version DESC LIMIT 1) AS e ON true`,
        values: [ids, [...new Set(streams)]],
      })
      const found = {
        rows: new Map(
          rows.flatMap((row) => (row.transaction_id === null ? [] : [[row.transaction_id, row as RecordedRow]])),
        ),
        newest: new Map(
          rows.flatMap(({ stream_id, stream_version, stream_hash }) =>
            stream_id === null
              ? []
              : [[stream_id, { version: stream_version, hash: stream_hash.toString('hex') }] as const],
          ),
        ),
      }
      return callers.map(() => found)
    },
    { isShared: isConnectionFailure },
  )
  return async (ids, streams) => (await read([{ ids, streams }]))[0] as RecordedRows
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
