/** The newest prices in US dollars, as read on chain. */
import type { Pool } from 'pg'
import type { Row } from '../event-log/table-rows.ts'
import type { KnownAsset } from './asset-index.ts'

export type AssetPrice = { readonly usd: string; readonly at: string }

/** The price of an asset, or `null` when unknown. */
export type PriceOf = (chainId: number, asset: KnownAsset) => AssetPrice | null

/**
 * Reads the prices of chains.
 *
 * Invariant: only the native currency and configured tokens have a price: prices are looked up by symbol, and anybody
 * can deploy a token called USDC.
 */
export async function readAssetPrices(pool: Pool, chainIds: readonly number[]): Promise<PriceOf> {
  const { rows } = await pool.query<Row<'prices'>>({
    name: 'prices_of_chains',
    text: 'SELECT chain_id, symbol, trim_scale(usd) AS usd, updated_at FROM prices WHERE chain_id = ANY($1)',
    values: [chainIds],
  })
  const prices = new Map(
    rows.map((row) => [`${row.chain_id} ${row.symbol}`, { usd: row.usd, at: row.updated_at.toISOString() }]),
  )
  return (chainId, { symbol, source }) =>
    source === 'registered' ? null : (prices.get(`${chainId} ${symbol}`) ?? null)
}
