/** What assets do: they keep the tokens that tenants register. */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { assetAggregate } from './aggregate.ts'
import type { AssetRegistered, AssetRemoved } from './events.ts'
import { REGISTERED_OF_TENANT } from './sql.ts'

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
}
