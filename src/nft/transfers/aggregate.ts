/** What is decided about a token transfer, and its read models: its row and its items. Pure. */
import { Conflict } from '../../core/errors.ts'
import type { Decider } from '../../core/messages.ts'
import { type Aggregate, opensItself, type ProjectionContext, type ReadModelRow } from '../../event-log/aggregate.ts'
import type { NftTransfer, NftTransferEvent } from './events.ts'

export type NftTransferState =
  | { readonly state: 'unknown' }
  | { readonly state: 'recorded'; readonly transfer: NftTransfer }

type NftTransferCommand = { readonly type: 'RecordTransfer'; readonly transfer: NftTransfer }

/** A token transfer is requested once; its transactions do the rest. */
const nftTransferDecider: Decider<NftTransferState, NftTransferCommand, NftTransferEvent> = {
  initialState: { state: 'unknown' },
  decide({ transfer }, state) {
    if (state.state !== 'unknown') throw new Conflict('transfer_exists', 'A transfer with this id already exists.')
    return [{ type: 'NftTransferRecorded', data: transfer }]
  },
  evolve: (_before, { data }) => ({ state: 'recorded', transfer: data }),
}

export const nftTransferAggregate: Aggregate<
  NftTransferState,
  NftTransferCommand,
  NftTransferEvent,
  'nft_transfers' | 'nft_transfer_items'
> = {
  ...nftTransferDecider,
  category: 'nftx',
  schemas: { NftTransferRecorded: { version: 1, upcasters: [] } },
  opens: opensItself<NftTransferEvent>('NftTransferRecorded'),
  project: (_before, after, context) => ({
    rows: after.state === 'unknown' ? [] : rowsOf(after.transfer, context),
    holds: [],
  }),
}

function rowsOf(
  transfer: NftTransfer,
  { id, version }: ProjectionContext,
): ReadModelRow<'nft_transfers' | 'nft_transfer_items'>[] {
  const { collectionId, from, items } = transfer
  const row = {
    transfer_id: id,
    tenant_id: transfer.tenantId,
    collection_id: collectionId,
    wallet_id: transfer.walletId,
    network: transfer.network,
    environment: transfer.environment,
    from_address: from,
    transfer_type: transfer.transferType,
    warnings: transfer.warnings,
    estimated_completion_at: transfer.estimatedCompletionAt,
    created_at: transfer.requestedAt,
    version,
  }
  const itemRows = items.map(
    ({ tokenId, to, amount, transactionId, sequence }, item): ReadModelRow<'nft_transfers' | 'nft_transfer_items'> => {
      const place = { transfer_id: id, item, collection_id: collectionId, token_id: tokenId, from_address: from }
      return {
        table: 'nft_transfer_items',
        row: { ...place, to_address: to, amount, transaction_id: transactionId, sequence },
      }
    },
  )
  return [{ table: 'nft_transfers', row }, ...itemRows]
}
