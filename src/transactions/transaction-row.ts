/** The row of a transaction in the read model, and what views read of it. */
import { CALLER_COLUMNS } from '../core/caller-fields.ts'
import type { SubjectType, TransactionType } from '../core/registry.ts'
import type { ReadOrWrittenRow } from '../event-log/table-rows.ts'
import type { Failure, RecordedLogs } from './events.ts'
import type { CallRecord, GasPriority } from './intent.ts'
import type { HistoryEntry, TransactionStateName, TransactionStatus } from './state.ts'

/** A row of the table `transactions` as node-postgres reads it, or as the projection writes it. */
export type TransactionRow = ReadOrWrittenRow<
  'transactions',
  {
    readonly type: TransactionType
    readonly state: TransactionStateName
    readonly status: TransactionStatus
    readonly gas_priority: GasPriority
    readonly hashes: readonly string[]
    readonly history: readonly HistoryEntry[]
    readonly logs: RecordedLogs | null
    readonly failure: Failure | null
    readonly subject_type: SubjectType | null
    readonly call: CallRecord | null
  }
>

/** Decimal digits in the response: a number in JSON is not exact beyond 53 bits. */
export const AMOUNT_COLUMNS = ['amount', 'amount_moved', 'fee_estimated', 'fee_actual'] as const
/** The other columns that a view needs. */
export const VIEW_COLUMNS = [
  'transaction_id',
  'tenant_id',
  'wallet_id',
  'network',
  'environment',
  'chain_id',
  'type',
  'state',
  'status',
  'succeeded',
  'from_address',
  'to_address',
  'asset_id',
  'asset_symbol',
  'asset_decimals',
  'asset_contract',
  'gas_priority',
  'nonce',
  'hash',
  'hashes',
  'block_number',
  'failure',
  'history',
  ...CALLER_COLUMNS,
  'estimated_completion_at',
  'created_at',
  'updated_at',
  'depends_on',
  'subject_type',
  'subject_id',
  'logs',
  'call',
] as const

/** With the parts of capabilities, each in the column of its name. */
export type ViewRow = Pick<TransactionRow, (typeof AMOUNT_COLUMNS | typeof VIEW_COLUMNS)[number]>
