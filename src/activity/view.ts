/** Observed transfers in the form of the API. */
import { toIso } from '../core/instants.ts'
import { formatDigits } from '../core/money.ts'
import type { ReadOrWrittenRow } from '../event-log/table-rows.ts'
import type { View } from '../http/view.ts'
import type { Direction, Valuation } from './events.ts'
import type { activityPageSchema, transferAtEventSchema } from './schemas.ts'
import type { TransferStatus } from './state.ts'

type TransferRow = ReadOrWrittenRow<
  'observed_transfers',
  { readonly direction: Direction; readonly status: TransferStatus; readonly valuation: Valuation | null }
>

/** A row of the list: an observed transfer, or a transaction of the wallet. Amounts are base units. */
export type EntryRow = Pick<
  TransferRow,
  | 'direction'
  | 'network'
  | 'asset_id'
  | 'asset_symbol'
  | 'asset_decimals'
  | 'asset_contract'
  | 'counterparty'
  | 'log_index'
  | 'transaction_id'
  | 'valuation'
  | 'place'
> & {
  readonly id: string
  readonly status: 'pending' | 'confirmed'
  readonly amount: string
  readonly hash: string | null
  readonly block_number: string | null
  readonly created_at: Date
}

export type EntryView = View<typeof activityPageSchema>['activity'][number]

export function toEntry(row: EntryRow): EntryView {
  return {
    id: row.id,
    ...sharedOf(row),
    status: row.status,
    hash: row.hash,
    block_number: row.block_number === null ? null : Number(row.block_number),
    transaction_id: row.transaction_id,
    created_at: toIso(row.created_at),
  }
}

export function toTransfer(row: TransferRow): View<typeof transferAtEventSchema> {
  return {
    transfer_id: row.transfer_id,
    wallet_id: row.wallet_id,
    ...sharedOf(row),
    decimals: row.asset_decimals,
    status: row.status,
    hash: row.hash,
    block_number: Number(row.block_number),
    block_hash: row.block_hash,
    block_timestamp: toIso(row.block_timestamp),
    transaction_id: row.transaction_id,
  }
}

function sharedOf(row: EntryRow | TransferRow) {
  const { valuation } = row
  return {
    direction: row.direction,
    network: row.network,
    amount: formatDigits(row.amount, row.asset_decimals),
    asset: row.asset_symbol,
    asset_id: row.asset_id,
    contract_address: row.asset_contract,
    counterparty: row.counterparty,
    log_index: row.log_index,
    valuation:
      valuation === null ? null : { usd_value: valuation.usd, price: valuation.price, price_at: valuation.priceAt },
  }
}
