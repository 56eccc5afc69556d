/** The assets that a policy of a tenant may name. */
import type { AssetBooks } from '../assets/asset-books.ts'
import { createDescribeAsset } from '../assets/describe-asset.ts'
import type { Owner } from '../core/tenants.ts'
import type { AssetOf } from '../policies/read-policy.ts'
import type { Kernel } from './kernel.ts'

export type AssetOfOwner = (owner: Owner, assetId: string) => ReturnType<AssetOf>

/** Those of its environment, by their ids. */
export function createAssetOfOwner({ chains }: Pick<Kernel, 'chains'>, books: AssetBooks): AssetOfOwner {
  const describeAsset = createDescribeAsset(books)
  return async ({ tenantId, environment }, assetId) => {
    const settings = chains.byChainId(Number(/^eip155:(\d+)\//.exec(assetId)?.[1]))?.settings
    return settings?.environment === environment ? describeAsset(tenantId, settings, assetId) : null
  }
}
