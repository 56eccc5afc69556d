/** The assets that a policy of a tenant may name. */
import { createAssetBooks } from '../assets/asset-books.ts'
import type { LimitedAsset } from '../core/policy.ts'
import type { Owner } from '../core/tenants.ts'
import type { Kernel } from './kernel.ts'

export type AssetsOfPolicies = (owner: Owner) => Promise<(assetId: string) => LimitedAsset | null>

export function createAssetsOfPolicies(
  { pool, chains }: Pick<Kernel, 'pool' | 'chains'>,
  books = createAssetBooks(pool),
): AssetsOfPolicies {
  return async ({ tenantId, environment }) => {
    const settings = chains.all.map((chain) => chain.settings).filter((chain) => chain.environment === environment)
    const indexes = await Promise.all(settings.map((chain) => books.open(tenantId, chain)))
    return (assetId) => {
      const asset = indexes.map(({ byId }) => byId(assetId)).find((found) => found !== undefined)
      return asset === undefined ? null : { assetId, symbol: asset.symbol, decimals: asset.decimals }
    }
  }
}
