/** Collections as public events: their request, and what became of the transaction that deploys the contract. */
import { published } from '../../capability.ts'
import type { RecordedEvent } from '../../core/messages.ts'
import { ID_PREFIXES } from '../../declarations.ts'
import { projectEvents } from '../../event-log/project-stream.ts'
import { named } from '../../http/components.ts'
import { transactionAggregate } from '../../transactions/aggregate.ts'
import type { Fate } from '../outcome.ts'
import { outcomeChange, outcomeEvents, REQUESTED, subjectOf } from '../outcome-change.ts'
import { collectionAggregate } from './aggregate.ts'
import type { CollectionEvent } from './events.ts'
import type { CollectionRow } from './read-collections.ts'
import { collectionSchema } from './schemas.ts'
import { type CollectionView, toCollectionView } from './view.ts'

const RESOURCE = { resource: 'nft.collection', scope: 'nft:read' } as const
const schema = named('NftCollectionAtEvent', collectionSchema)

export const publishedCollections = [
  published(collectionAggregate, {
    ...RESOURCE,
    whole: true,
    types: { 'nft.collection.requested': 'A collection was requested. Its contract will be deployed.' },
    events: { CollectionRequested: ['nft.collection.requested'] },
    schema,
    render: ({ id, tenantId, events }) => ({ resourceId: id, data: viewOf(events, { id, tenantId }, REQUESTED) }),
  }),
  published(transactionAggregate, {
    ...RESOURCE,
    whole: true,
    firstIndex: 1,
    subject: 'collection',
    mayConcern: (_transactionId, id) => id.startsWith(ID_PREFIXES.collection),
    types: {
      'nft.collection.deployed': 'The contract of a collection is in a block.',
      'nft.collection.failed': 'The contract of a collection was not deployed.',
      'nft.collection.reorged': 'The block with the contract of a collection left the chain.',
    },
    events: outcomeEvents({
      done: ['nft.collection.deployed'],
      failed: ['nft.collection.failed'],
      reorged: ['nft.collection.reorged'],
    }),
    schema,
    related: (source) => [`collection-${subjectOf(source, 'collection')}`],
    render(source) {
      const changed = outcomeChange(source)
      const id = subjectOf(source, 'collection')
      const requested = source.firstOf(`collection-${id}`) as RecordedEvent<CollectionEvent> | undefined
      if (changed === null || id === null || requested?.data.transactionId !== source.id) return null
      return { resourceId: id, data: viewOf([requested], { id, tenantId: source.tenantId }, changed.fate) }
    },
  }),
]

function viewOf(
  events: readonly RecordedEvent<CollectionEvent>[],
  stream: { readonly id: string; readonly tenantId: string },
  fate: Fate,
): CollectionView {
  const [row] = projectEvents(collectionAggregate, events, stream, 'nft_collections')
  return toCollectionView({ ...(row as Omit<CollectionRow, keyof Fate>), ...fate })
}
