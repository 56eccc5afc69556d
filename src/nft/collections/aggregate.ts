/** The read model of a collection: its row, and its published metadata. Pure. */
import { canonicalJson } from '../../core/canonical-json.ts'
import { type Aggregate, opensItself, type ProjectionContext, type ReadModelRow } from '../../event-log/aggregate.ts'
import { contentRows } from '../metadata/content.ts'
import { type CollectionCommand, collectionDecider } from './decider.ts'
import type { CollectionEvent } from './events.ts'
import type { CollectionState, KnownCollection } from './state.ts'

export const collectionAggregate: Aggregate<
  CollectionState,
  CollectionCommand,
  CollectionEvent,
  'nft_collections' | 'nft_metadata' | 'nft_pins'
> = {
  ...collectionDecider,
  category: 'collection',
  schemas: { CollectionRequested: { version: 1, upcasters: [] } },
  opens: opensItself<CollectionEvent>('CollectionRequested'),
  project: (_before, after, context) => ({
    rows: after.state === 'unknown' ? [] : rowsOf(after, context),
    holds: [],
  }),
}

function rowsOf(
  { collection }: KnownCollection,
  { id, version }: ProjectionContext,
): ReadModelRow<'nft_collections' | 'nft_metadata' | 'nft_pins'>[] {
  const { cid, metadata, requestedAt } = collection
  const row = {
    collection_id: id,
    tenant_id: collection.tenantId,
    wallet_id: collection.walletId,
    network: collection.network,
    environment: collection.environment,
    chain_id: collection.chainId,
    standard: collection.standard,
    collection_type: collection.collectionType,
    name: collection.name,
    symbol: collection.symbol,
    metadata,
    cid,
    base_uri: collection.baseUri,
    royalty_bps: collection.royaltyBps,
    royalty_recipient: collection.royaltyRecipient,
    max_supply: collection.maxSupply,
    transferable: collection.transferable,
    owner_address: collection.owner,
    contract_address: collection.contractAddress,
    transaction_id: collection.transactionId,
    created_at: requestedAt,
    version,
  }
  return [{ table: 'nft_collections', row }, ...contentRows({ cid, text: canonicalJson(metadata) }, requestedAt)]
}
