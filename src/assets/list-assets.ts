/** Lists the assets of a tenant, chain by chain: native currency, configured tokens, registered tokens. */
import type { Context } from '../context.ts'
import type { AssetBooks } from './asset-books.ts'
import type { AssetChain, KnownAsset } from './asset-index.ts'
import { type AssetPrice, readAssetPrices } from './asset-prices.ts'
import { readUnreadable, type Unreadable } from './unreadable.ts'

export type PricedAsset = {
  readonly asset: KnownAsset
  readonly chain: AssetChain
  readonly price: AssetPrice | null
  /** Set while the contract cannot be read. */
  readonly unreadable: Unreadable | null
}

/** In the order of the chains. */
export async function listAssets(
  { pool, books }: Pick<Context, 'pool'> & { readonly books: AssetBooks },
  tenantId: string,
  chains: readonly AssetChain[],
): Promise<readonly PricedAsset[]> {
  const chainIds = chains.map(({ chainId }) => chainId)
  const [priceOf, unreadableOf, indexes] = await Promise.all([
    readAssetPrices(pool, chainIds),
    readUnreadable(pool, chainIds),
    Promise.all(chains.map(async (chain) => ({ chain, index: await books.open(tenantId, chain, { fresh: true }) }))),
  ])
  return indexes.flatMap(({ chain, index }) =>
    index.all.map((asset) => ({
      asset,
      chain,
      price: priceOf(chain.chainId, asset),
      unreadable: unreadableOf(chain.chainId, asset),
    })),
  )
}
