/** A transaction in the form of the API, from its row in the read model. */
import { nativeAsset } from '../core/assets.ts'
import { formatAmount } from '../core/money.ts'
import type { Network } from '../core/networks.ts'
import type { Change } from '../event-log/aggregate.ts'
import type { Subject, SubjectType } from './events.ts'
import type { HistoryEntry } from './state.ts'

export type TransactionView = {
  readonly transaction_id: string
  readonly wallet_id: string
  readonly status: string
  readonly state: string
  readonly type: string
  readonly network: string
  readonly hash: string | null
  readonly hashes: readonly string[]
  readonly from: string
  readonly to: string
  readonly amount: string
  readonly amount_moved: string | null
  readonly asset: string
  readonly asset_id: string
  readonly gas_priority: string
  readonly nonce: number | null
  readonly block_number: number | null
  readonly confirmations: number
  readonly required_confirmations: number
  readonly fee: { readonly estimated: string; readonly actual: string | null; readonly currency: string }
  readonly failure: { readonly code: string; readonly message: string } | null
  readonly history: readonly HistoryEntry[]
  readonly depends_on: string | null
  readonly subject: Subject | null
  readonly reference_id: string | null
  readonly memo: string | null
  readonly valid_until: string | null
  readonly estimated_completion_time: string
  readonly created_at: string
  readonly updated_at: string
}

/** A row of the table `transactions` as node-postgres reads it, or as the projection writes it. */
export type TransactionRow = {
  readonly transaction_id: string
  readonly tenant_id: string
  readonly wallet_id: string
  readonly network: Network
  readonly chain_id: number
  readonly type: string
  readonly state: string
  readonly status: string
  readonly from_address: string
  readonly to_address: string
  readonly asset_id: string
  readonly asset_symbol: string
  readonly asset_decimals: number
  readonly amount: string
  readonly amount_moved: string | null
  readonly gas_priority: string
  readonly nonce: string | number | null
  readonly hash: string | null
  readonly hashes: readonly string[]
  readonly block_number: string | number | null
  readonly fee_estimated: string
  readonly fee_actual: string | null
  readonly failure: { readonly code: string; readonly message: string } | null
  readonly history: readonly HistoryEntry[]
  readonly depends_on: string | null
  readonly subject_type: SubjectType | null
  readonly subject_id: string | null
  readonly reference_id: string | null
  readonly memo: string | null
  readonly valid_until: Date | string | null
  readonly estimated_completion_at: Date | string
  readonly created_at: Date | string
  readonly updated_at: Date | string
}

/** @param chain number of the newest processed block (null: none yet), and the required confirmations */
export function toView(
  row: TransactionRow,
  chain: { readonly head: number | null; readonly required: number },
): TransactionView {
  const native = nativeAsset(row.network, row.chain_id)
  const blockNumber = row.block_number === null ? null : Number(row.block_number)
  return {
    transaction_id: row.transaction_id,
    wallet_id: row.wallet_id,
    status: row.status,
    state: row.state,
    type: row.type,
    network: row.network,
    hash: row.hash,
    hashes: row.hashes,
    from: row.from_address,
    to: row.to_address,
    amount: formatAmount(BigInt(row.amount), row.asset_decimals),
    amount_moved: row.amount_moved === null ? null : formatAmount(BigInt(row.amount_moved), row.asset_decimals),
    asset: row.asset_symbol,
    asset_id: row.asset_id,
    gas_priority: row.gas_priority,
    nonce: row.nonce === null ? null : Number(row.nonce),
    block_number: blockNumber,
    confirmations: blockNumber === null || chain.head === null ? 0 : Math.max(0, chain.head - blockNumber + 1),
    required_confirmations: chain.required,
    fee: {
      estimated: formatAmount(BigInt(row.fee_estimated), native.decimals),
      actual: row.fee_actual === null ? null : formatAmount(BigInt(row.fee_actual), native.decimals),
      currency: native.symbol,
    },
    failure: row.failure,
    history: row.history,
    depends_on: row.depends_on,
    subject:
      row.subject_type === null || row.subject_id === null ? null : { type: row.subject_type, id: row.subject_id },
    reference_id: row.reference_id,
    memo: row.memo,
    valid_until: row.valid_until === null ? null : instant(row.valid_until),
    estimated_completion_time: instant(row.estimated_completion_at),
    created_at: instant(row.created_at),
    updated_at: instant(row.updated_at),
  }
}

/** The view of a transaction that was just requested, from the row that its append wrote. */
export function viewOf(requested: Change, required = 0): TransactionView {
  const row = requested.readModels.rows.find(({ table }) => table === 'transactions')?.row
  if (row === undefined) throw new Error('a transaction must project its row')
  return toView(row as TransactionRow, { head: null, required })
}

function instant(time: Date | string): string {
  return typeof time === 'string' ? time : time.toISOString()
}
