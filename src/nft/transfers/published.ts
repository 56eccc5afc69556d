/**
 * Transfers of NFTs as public events: their request, and what became of each of their transactions. An event of a
 * transaction shows the items that this transaction moves.
 */
import { type PublishSource, published } from '../../capability.ts'
import type { Event, RecordedEvent } from '../../core/messages.ts'
import { ID_PREFIXES } from '../../declarations.ts'
import { projectEvents } from '../../event-log/project-stream.ts'
import { named } from '../../http/components.ts'
import { transactionAggregate } from '../../transactions/aggregate.ts'
import type { CollectionEvent } from '../collections/events.ts'
import type { Fate } from '../outcome.ts'
import { outcomeChange, outcomeEvents, REQUESTED, subjectOf } from '../outcome-change.ts'
import { nftTransferAggregate } from './aggregate.ts'
import type { NftTransferEvent } from './events.ts'
import { transferSchema } from './schemas.ts'
import { type NftTransferView, type TransferItemRow, type TransferRow, toTransferView } from './view.ts'

type Requested = RecordedEvent<NftTransferEvent>

const RESOURCE = { resource: 'nft.transfer', scope: 'nft:read' } as const
const schema = named('NftTransferAtEvent', transferSchema)

export const publishedNftTransfers = [
  published(nftTransferAggregate, {
    ...RESOURCE,
    whole: true,
    types: { 'nft.transfer.requested': 'A transfer of tokens was requested.' },
    events: { NftTransferRecorded: ['nft.transfer.requested'] },
    schema,
    related: ({ events }) => events.map(collectionOf),
    render({ id, firstOf, events: [requested] }) {
      if (requested === undefined) return null
      const items = itemsOf(requested, id).map((item) => ({ ...item, ...REQUESTED }))
      return factsOf(requested, id, items, firstOf)
    },
  }),
  published(transactionAggregate, {
    ...RESOURCE,
    whole: true,
    firstIndex: 1,
    subject: 'nft_transfer',
    mayConcern: (_transactionId, id) => id.startsWith(ID_PREFIXES.nftTransfer),
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

function collectionOf({ data }: Requested): string {
  return `collection-${data.collectionId}`
}

function itemsOf(requested: Requested, id: string): Omit<TransferItemRow, keyof Fate>[] {
  const { tenantId } = requested.data
  return projectEvents(nftTransferAggregate, [requested], { id, tenantId }, 'nft_transfer_items')
}

/** Null without the collection, which every transfer has. */
function factsOf(
  requested: Requested,
  id: string,
  items: readonly TransferItemRow[],
  firstOf: PublishSource<Event>['firstOf'],
): { readonly resourceId: string; readonly data: NftTransferView } | null {
  const { tenantId } = requested.data
  const [row] = projectEvents(nftTransferAggregate, [requested], { id, tenantId }, 'nft_transfers')
  const collection = firstOf(collectionOf(requested)) as RecordedEvent<CollectionEvent> | undefined
  if (row === undefined || collection === undefined) return null
  const { contractAddress: contract_address } = collection.data
  const transfer = { ...(row as Omit<TransferRow, 'contract_address'>), contract_address }
  return { resourceId: id, data: toTransferView(transfer, items) }
}
