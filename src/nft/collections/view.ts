/** A collection in the form of the API. */
import { type Outcome, outcomeOf } from '../outcome.ts'
import type { CollectionRow } from './read-collections.ts'

export const COLLECTION_STATUSES = ['DEPLOYING', 'DEPLOYED', 'FAILED'] as const
export type CollectionStatus = (typeof COLLECTION_STATUSES)[number]

const STATUS: Readonly<Record<Outcome, CollectionStatus>> = { pending: 'DEPLOYING', done: 'DEPLOYED', failed: 'FAILED' }

export type CollectionView = {
  readonly collection_id: string
  readonly contract_address: string
  readonly name: string
  readonly symbol: string
  readonly standard: string
  readonly network: string
  readonly created_at: string
  readonly status: CollectionStatus
  readonly transaction_id: string
  readonly transaction_hash: string | null
  readonly environment: string
  readonly description: string | null
  readonly metadata: { readonly external_url: string | null; readonly image: string | null }
  readonly metadata_uri: string
  readonly collection_type: string
  readonly wallet_id: string
  readonly owner: string
  readonly royalty_percentage: number
  readonly royalty_recipient: string | null
  readonly max_supply: number | null
  readonly transferable: boolean
  readonly failure: { readonly code: string; readonly message: string } | null
}

export function collectionStatus(row: CollectionRow): CollectionStatus {
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
    created_at: row.created_at.toISOString(),
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
