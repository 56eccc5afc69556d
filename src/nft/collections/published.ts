/** Collections as public events: their request, and what became of the transaction that deploys the contract. */
import { type FirstEvent, published } from '../../capability.ts'
import { projectChange, projectFirst } from '../../event-log/project-stream.ts'
import { named } from '../../http/components.ts'
import { transactionFold } from '../../transactions/fold-view.ts'
import { nft } from '../declaration.ts'
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
    types: { 'nft.collection.requested': 'A collection was requested. Its contract will be deployed.' },
    events: { CollectionRequested: ['nft.collection.requested'] },
    schema,
    render(source) {
      const [row] = projectChange(collectionAggregate, source, 'nft_collections')
      return { resourceId: source.id, data: viewOf(row, REQUESTED) }
    },
  }),
  published(transactionFold, {
    ...RESOURCE,
    firstIndex: 1,
    subject: 'collection',
    mayConcern: (_transactionId, id) => id.startsWith(nft.ids.collection),
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
      const requested = source.firstOf(`collection-${id}`) as FirstEvent<CollectionEvent> | undefined
      if (changed === null || id === null || requested?.data.transactionId !== source.id) return null
      const [row] = projectFirst(collectionAggregate, requested, { id, tenantId: source.tenantId }, 'nft_collections')
      return { resourceId: id, data: viewOf(row, changed.fate) }
    },
  }),
]

function viewOf(row: unknown, fate: Fate): CollectionView {
  return toCollectionView({ ...(row as Omit<CollectionRow, keyof Fate>), ...fate })
}
