/** The read model of a registered asset: its row. Pure. */
import type { Aggregate, ReadModelRow } from '../event-log/aggregate.ts'
import { type AssetCommand, type AssetState, assetDecider } from './decider.ts'
import type { AssetEvent } from './events.ts'

export const assetAggregate: Aggregate<AssetState, AssetCommand, AssetEvent, 'assets'> = {
  ...assetDecider,
  category: 'asset',
  schemas: { AssetRegistered: { version: 1, upcasters: [] }, AssetRemoved: { version: 1, upcasters: [] } },
  opens: ({ type, data }) => (type === 'AssetRegistered' ? { id: data.assetId, rank: 0 } : null),
  project: (_before, after, { tenantId, version }) => ({ rows: rowsOf(after, tenantId, version), holds: [] }),
}

/** Registrations belong to a tenant and have no effect on others. */
export function assetStreamId(tenantId: string, assetId: string): string {
  return `${assetId}@${tenantId}`
}

function rowsOf(asset: AssetState, tenantId: string, version: number): ReadModelRow<'assets'>[] {
  if (asset.status === 'unknown') return []
  const row = {
    tenant_id: tenantId,
    asset_id: asset.assetId,
    network: asset.network,
    environment: asset.environment,
    chain_id: asset.chainId,
    contract_address: asset.contractAddress,
    symbol: asset.symbol,
    name: asset.name,
    decimals: asset.decimals,
    created_at: asset.registeredAt,
    version,
    removed_at: asset.status === 'removed' ? asset.removedAt : null,
  }
  return [{ table: 'assets', row }]
}
