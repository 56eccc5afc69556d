/** What assets do: they keep the tokens that tenants register. */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { assetAggregate } from './aggregate.ts'
import type { AssetRegistered, AssetRemoved } from './events.ts'

/** How many tokens the tenant `$1` has registered and not removed. */
const REGISTERED_OF_TENANT = 'SELECT count(*) FROM assets WHERE tenant_id = $1 AND removed_at IS NULL'

const aggregate = anyAggregate(assetAggregate)

export const assets: Capability = {
  aggregates: [aggregate],
  publishes: async () => [(await import('./published.ts')).publishedAssets],
  verified: [{ table: 'assets', aggregate, streamOf: `'asset-' || r.asset_id || '@' || r.tenant_id` }],
  past: {
    standing: {
      AssetRegistered({ assetId, chainId, contractAddress: contract, symbol, decimals }: AssetRegistered['data']) {
        return [{ is: 'token', chainId, contract, asset: { assetId, symbol, decimals, contract } }]
      },
      AssetRemoved: ({ chainId, contractAddress: contract }: AssetRemoved['data']) => [
        { is: 'token', chainId, contract, asset: null },
      ],
    },
  },
  usage: { assets: REGISTERED_OF_TENANT },
  place: 70,
  routes: async () => (await import('./routes.ts')).assetRoutes,
}
