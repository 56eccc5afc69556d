/** A token transfer in the form of the API: its status is derived from its transactions. */

import { toIso } from '../../core/instants.ts'
import type { ReadOrWrittenRow, Row } from '../../event-log/table-rows.ts'
import type { View } from '../../http/view.ts'
import { type Fate, type Outcome, outcomeOf } from '../outcome.ts'
import type { TransferType, TransferWarning } from './events.ts'
import type { transferSchema } from './schemas.ts'

export type NftTransferView = View<typeof transferSchema>
type Item = NftTransferView['items'][number]
type Status = Item['status']

const STATUS: Readonly<Record<Outcome, Status>> = { pending: 'PENDING', done: 'CONFIRMED', failed: 'FAILED' }

/** A row of `nft_transfers`, with its collection's contract. */
export type TransferRow = Omit<
  ReadOrWrittenRow<
    'nft_transfers',
    { readonly transfer_type: TransferType; readonly warnings: readonly TransferWarning[] }
  >,
  'version'
> &
  Pick<Row<'nft_collections'>, 'contract_address'>

/** A row of `nft_transfer_items` with the outcome of its transaction. */
export type TransferItemRow = Pick<Row<'nft_transfer_items'>, 'token_id' | 'to_address' | 'amount' | 'transaction_id'> &
  Fate

/** @param items in the order of the request; at least one */
export function toTransferView(transfer: TransferRow, items: readonly TransferItemRow[]): NftTransferView {
  const views = items.map(toItemView)
  return {
    transfer_id: transfer.transfer_id,
    transaction_hash: views[0]?.transaction_hash ?? null,
    status: statusOf(views.map(({ status }) => status)),
    estimated_completion: toIso(transfer.estimated_completion_at),
    collection_id: transfer.collection_id,
    contract_address: transfer.contract_address,
    network: transfer.network,
    wallet_id: transfer.wallet_id,
    from: transfer.from_address,
    transfer_type: transfer.transfer_type,
    items: views,
    warnings: transfer.warnings,
    created_at: toIso(transfer.created_at),
  }
}

/** Pending while one item is pending; then failed if one failed. */
function statusOf(items: readonly Status[]): Status {
  if (items.includes('PENDING')) return 'PENDING'
  return items.includes('FAILED') ? 'FAILED' : 'CONFIRMED'
}

function toItemView(row: TransferItemRow): Item {
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
