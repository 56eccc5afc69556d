/** Describes an asset id for a tenant: symbol, decimals and contract. */
import type { AssetBooks } from './asset-books.ts'
import type { AssetChain, KnownAsset } from './asset-index.ts'

/** `null` for an asset that is neither configured nor registered by the tenant. */
export async function describeAsset(
  { books }: { readonly books: AssetBooks },
  tenantId: string,
  chain: AssetChain,
  assetId: string,
): Promise<KnownAsset | null> {
  const remembered = (await books.open(tenantId, chain)).byId(assetId)
  return remembered ?? (await books.open(tenantId, chain, { fresh: true })).byId(assetId) ?? null
}
