/**
 * Transfers of NFTs as public events: their request, and what became of each of their transactions. An event of a
 * transaction shows the items that this transaction moves.
 */
import { type EventSource, type FirstEvent, published } from '../../capability.ts'
import { projectFirst } from '../../event-log/project-stream.ts'
import { named } from '../../http/components.ts'
import { transactionFold } from '../../transactions/fold-view.ts'
import type { CollectionEvent } from '../collections/events.ts'
import { nft } from '../declaration.ts'
import type { Fate } from '../outcome.ts'
import { outcomeChange, outcomeEvents, REQUESTED, subjectOf } from '../outcome-change.ts'
import { nftTransferAggregate } from './aggregate.ts'
import type { NftTransferEvent } from './events.ts'
import { transferSchema } from './schemas.ts'
import { type NftTransferView, type TransferItemRow, type TransferRow, toTransferView } from './view.ts'

type Requested = FirstEvent<NftTransferEvent>

const RESOURCE = { resource: 'nft.transfer', scope: 'nft:read' } as const
const schema = named('NftTransferAtEvent', transferSchema)

export const publishedNftTransfers = [
  published(nftTransferAggregate, {
    ...RESOURCE,
    types: { 'nft.transfer.requested': 'A transfer of tokens was requested.' },
    events: { NftTransferRecorded: ['nft.transfer.requested'] },
    schema,
    related: ({ first }) => [collectionOf(first)],
    render({ id, firstOf, event, recordedAt }) {
      const requested = { ...event, recordedAt }
      const items = itemsOf(requested, id).map((item) => ({ ...item, ...REQUESTED }))
      return factsOf(requested, id, items, firstOf)
    },
  }),
  published(transactionFold, {
    ...RESOURCE,
    firstIndex: 1,
    subject: 'nft_transfer',
    mayConcern: (_transactionId, id) => id.startsWith(nft.ids.nftTransfer),
    types: {
      'nft.transfer.confirmed':
        'A transaction of a transfer of tokens is in a block, so their status is `CONFIRMED`. A chain reorganisation can still remove it.',
      'nft.transfer.failed': 'A transaction of a transfer of tokens failed.',
      'nft.transfer.reorged': 'The block with a transaction of a transfer of tokens left the chain.',
    },
    events: outcomeEvents({
      done: ['nft.transfer.confirmed'],
      failed: ['nft.transfer.failed'],
      reorged: ['nft.transfer.reorged'],
    }),
    schema,
    related(source) {
      const stream = `nftx-${subjectOf(source, 'nft_transfer')}`
      const requested = source.firstOf(stream) as Requested | undefined
      return requested === undefined ? [stream] : [stream, collectionOf(requested)]
    },
    render(source) {
      const changed = outcomeChange(source)
      const id = subjectOf(source, 'nft_transfer')
      const requested = source.firstOf(`nftx-${id}`) as Requested | undefined
      if (changed === null || id === null || requested === undefined) return null
      const own = itemsOf(requested, id).filter(({ transaction_id }) => transaction_id === source.id)
      const items = own.map((item) => ({ ...item, ...changed.fate }))
      return factsOf(requested, id, items, source.firstOf)
    },
  }),
]

function collectionOf({ data }: NftTransferEvent): string {
  return `collection-${data.collectionId}`
}

function itemsOf(requested: Requested, id: string): Omit<TransferItemRow, keyof Fate>[] {
  const { tenantId } = requested.data
  return projectFirst(nftTransferAggregate, requested, { id, tenantId }, 'nft_transfer_items')
}

/** Null without the collection, which every transfer has. */
function factsOf(
  requested: Requested,
  id: string,
  items: readonly TransferItemRow[],
  firstOf: EventSource['firstOf'],
): { readonly resourceId: string; readonly data: NftTransferView } | null {
  const { tenantId } = requested.data
  const [row] = projectFirst(nftTransferAggregate, requested, { id, tenantId }, 'nft_transfers')
  const collection = firstOf(collectionOf(requested)) as FirstEvent<CollectionEvent> | undefined
  if (row === undefined || collection === undefined) return null
  const { contractAddress: contract_address } = collection.data
  const transfer = { ...(row as Omit<TransferRow, 'contract_address'>), contract_address }
  return { resourceId: id, data: toTransferView(transfer, items) }
}
