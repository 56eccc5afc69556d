/** A token transfer in the form of the API: its status is derived from its transactions. */

import type { Environment } from '../../core/networks.ts'
import type { Row } from '../../event-log/table-rows.ts'
import { type Outcome, outcomeOf, type TransactionFate } from '../outcome.ts'
import type { TransferType, TransferWarning } from './events.ts'

export const TRANSFER_STATUSES = ['PENDING', 'CONFIRMED', 'FAILED'] as const
export type NftTransferStatus = (typeof TRANSFER_STATUSES)[number]

const STATUS: Readonly<Record<Outcome, NftTransferStatus>> = { pending: 'PENDING', done: 'CONFIRMED', failed: 'FAILED' }

export type TransferItemView = {
  readonly token_id: string
  readonly to: string
  readonly amount: string
  readonly status: NftTransferStatus
  readonly transaction_id: string
  readonly transaction_hash: string | null
  readonly failure: { readonly code: string; readonly message: string } | null
}

export type NftTransferView = {
  readonly transfer_id: string
  readonly transaction_hash: string | null
  readonly status: NftTransferStatus
  readonly estimated_completion: string
  readonly collection_id: string
  readonly contract_address: string
  readonly network: string
  readonly wallet_id: string
  readonly from: string
  readonly transfer_type: TransferType
  readonly items: readonly TransferItemView[]
  readonly warnings: readonly TransferWarning[]
  readonly created_at: string
}

/** A row of `nft_transfers`, with its collection's contract. */
export type TransferRow = Omit<
  Row<
    'nft_transfers',
    {
      readonly environment: Environment
      readonly transfer_type: TransferType
      readonly warnings: readonly TransferWarning[]
    }
  >,
  'version'
> &
  Pick<Row<'nft_collections'>, 'contract_address'>

/** A row of `nft_transfer_items` with the outcome of its transaction. */
export type TransferItemRow = TransactionFate &
  Pick<Row<'nft_transfer_items'>, 'token_id' | 'to_address' | 'amount' | 'transaction_id'> &
  Pick<
    Row<'transactions', { readonly failure: { readonly code: string; readonly message: string } | null }>,
    'hash' | 'failure'
  >

/** @param items in the order of the request; at least one */
export function toTransferView(transfer: TransferRow, items: readonly TransferItemRow[]): NftTransferView {
  const views = items.map(toItemView)
  return {
    transfer_id: transfer.transfer_id,
    transaction_hash: views[0]?.transaction_hash ?? null,
    status: statusOf(views.map(({ status }) => status)),
    estimated_completion: transfer.estimated_completion_at.toISOString(),
    collection_id: transfer.collection_id,
    contract_address: transfer.contract_address,
    network: transfer.network,
    wallet_id: transfer.wallet_id,
    from: transfer.from_address,
    transfer_type: transfer.transfer_type,
    items: views,
    warnings: transfer.warnings,
    created_at: transfer.created_at.toISOString(),
  }
}

/** Pending while one item is pending; then failed if one failed. */
function statusOf(items: readonly NftTransferStatus[]): NftTransferStatus {
  if (items.includes('PENDING')) return 'PENDING'
  return items.includes('FAILED') ? 'FAILED' : 'CONFIRMED'
}

function toItemView(row: TransferItemRow): TransferItemView {
  return {
    token_id: row.token_id,
    to: row.to_address,
    amount: row.amount,
    status: STATUS[outcomeOf(row)],
    transaction_id: row.transaction_id,
    transaction_hash: row.hash,
    failure: row.failure,
  }
}
