/** Registered tokens as public events. */
import { Type } from '@sinclair/typebox'
import { published } from '../capability.ts'
import { toIso } from '../core/instants.ts'
import { projectChange } from '../event-log/project-stream.ts'
import { named } from '../http/components.ts'
import { addressSchema, instant, nullable } from '../http/schemas.ts'
import { assetAggregate } from './aggregate.ts'
import { assetNames, assetPlace, TOKEN } from './schemas.ts'

const schema = named(
  'AssetAtEvent',
  Type.Object({
    ...assetNames,
    contract_address: { ...addressSchema, description: 'The token contract.', examples: [TOKEN] },
    ...assetPlace,
    created_at: instant('When the token was registered.'),
    removed_at: nullable(instant('When the token was removed. Null unless it is.')),
  }),
)

export const publishedAssets = published(assetAggregate, {
  resource: 'asset',
  scope: 'assets:read',
  mayConcern: (id, assetId) => id.startsWith(`${assetId}@`),
  streamOf: (assetId, tenantId) => `${assetId}@${tenantId}`,
  types: {
    'asset.registered': 'A token was registered: it can be named by its symbol.',
    'asset.removed': 'A registered token was removed.',
  },
  events: { AssetRegistered: ['asset.registered'], AssetRemoved: ['asset.removed'] },
  schema,
  render(source) {
    const [row] = projectChange(assetAggregate, source, 'assets')
    if (row === undefined) return null
    const { tenant_id: _, chain_id: __, version: ___, created_at, removed_at, ...asset } = row
    const times = { created_at: toIso(created_at), removed_at: removed_at === null ? null : toIso(removed_at) }
    return { resourceId: asset.asset_id, data: { ...asset, ...times } }
  },
})
