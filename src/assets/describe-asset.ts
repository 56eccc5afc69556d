/** Describes an asset id for a tenant: symbol, decimals and contract. */
import type { AssetBooks } from './asset-books.ts'
import type { AssetChain, KnownAsset } from './asset-index.ts'

/** `null` for an asset that is neither configured nor registered by the tenant. */
export type DescribeAsset = (tenantId: string, chain: AssetChain, assetId: string) => Promise<KnownAsset | null>

export function createDescribeAsset(books: AssetBooks): DescribeAsset {
  return async (tenantId, chain, assetId) => {
    const remembered = (await books.open(tenantId, chain)).byId(assetId)
    return remembered ?? (await books.open(tenantId, chain, { fresh: true })).byId(assetId) ?? null
  }
}
