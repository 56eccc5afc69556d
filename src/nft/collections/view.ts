/** A collection in the form of the API. */
import { toIso } from '../../core/instants.ts'
import type { View } from '../../http/view.ts'
import { type Outcome, outcomeOf } from '../outcome.ts'
import type { CollectionRow } from './read-collections.ts'
import type { collectionSchema } from './schemas.ts'

export type CollectionView = View<typeof collectionSchema>

const STATUS: Readonly<Record<Outcome, CollectionView['status']>> = {
  pending: 'DEPLOYING',
  done: 'DEPLOYED',
  failed: 'FAILED',
}

export function collectionStatus(row: CollectionRow): CollectionView['status'] {
  return STATUS[outcomeOf(row)]
}

export function toCollectionView(row: CollectionRow): CollectionView {
  const { metadata } = row
  return {
    collection_id: row.collection_id,
    contract_address: row.contract_address,
    name: row.name,
    symbol: row.symbol,
    standard: row.standard,
    network: row.network,
    created_at: toIso(row.created_at),
    status: collectionStatus(row),
    transaction_id: row.transaction_id,
    transaction_hash: row.hash,
    environment: row.environment,
    description: metadata.description ?? null,
    metadata: { external_url: metadata.external_link ?? null, image: metadata.image ?? null },
    metadata_uri: `${row.base_uri}${row.cid}`,
    collection_type: row.collection_type,
    wallet_id: row.wallet_id,
    owner: row.owner_address,
    royalty_percentage: row.royalty_bps / 100,
    royalty_recipient: row.royalty_recipient,
    max_supply: row.max_supply === null ? null : Number(row.max_supply),
    transferable: row.transferable,
    failure: row.failure,
  }
}
