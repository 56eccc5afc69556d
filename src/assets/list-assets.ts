/** Lists what a tenant may name, chain by chain: the native currency, what is configured, what the tenant registered. */
import type { Pool } from 'pg'
import type { AssetBooks } from './asset-books.ts'
import type { AssetChain, KnownAsset } from './asset-index.ts'
import { type AssetPrice, readAssetPrices } from './asset-prices.ts'

export type PricedAsset = {
  readonly asset: KnownAsset
  readonly chain: AssetChain
  readonly price: AssetPrice | null
}

/** In the order of the chains. */
export type ListAssets = (tenantId: string, chains: readonly AssetChain[]) => Promise<readonly PricedAsset[]>

export function createListAssets({ pool, books }: { readonly pool: Pool; readonly books: AssetBooks }): ListAssets {
  return async (tenantId, chains) => {
    const [priceOf, indexes] = await Promise.all([
      readAssetPrices(
        pool,
        chains.map(({ chainId }) => chainId),
      ),
      Promise.all(chains.map(async (chain) => ({ chain, index: await books.open(tenantId, chain, { fresh: true }) }))),
    ])
    return indexes.flatMap(({ chain, index }) =>
      index.all.map((asset) => ({ asset, chain, price: priceOf(chain.chainId, asset) })),
    )
  }
}
