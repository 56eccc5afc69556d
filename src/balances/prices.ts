/** Maintains the table of prices from the Chainlink feeds of a chain. The row of a stale price is deleted. */
import type { ChainClient } from '../chain/client-set.ts'
import type { Context } from '../context.ts'
import { toInstant } from '../core/ids.ts'
import { formatAmount } from '../core/money.ts'
import { type Price, readPrices } from './price-feeds.ts'

/** Feeds of volatile assets update hourly, those of stable coins daily, sometimes a little late. */
export const MAX_PRICE_AGE_MS = 25 * 60 * 60 * 1_000

/** The table has 20 digits before the point. A feed with a higher price is broken. */
const PRICE_LIMIT_USD = 10n ** 20n

/**
 * Reads all feeds of a chain in one call and writes their prices.
 *
 * @throws Unavailable when no node answers: the prices stay, and readers ignore stale ones
 */
export async function refreshPrices(
  { pool, clock }: Pick<Context, 'pool' | 'clock'>,
  { settings, agreed: client }: Pick<ChainClient, 'settings' | 'agreed'>,
): Promise<void> {
  const feeds = Object.entries(settings.priceFeeds).map(([symbol, address]) => ({ symbol, address }))
  if (feeds.length === 0) return
  const prices = await readPrices({
    client,
    multicall3: settings.multicall3Address,
    feeds,
    maxAgeMs: MAX_PRICE_AGE_MS,
    now: clock,
  })
  const known = feeds.flatMap(({ symbol }, index) => {
    const price = prices[index] ?? null
    return price === null || !isPlausible(price) ? [] : [{ symbol, price }]
  })
  await pool.query({
    name: 'refresh_prices',
    text: `WITH fresh AS (
             SELECT * FROM unnest($2::text[], $3::numeric[], $4::timestamptz[]) AS fresh(symbol, usd, updated_at)
           ), gone AS (
             DELETE FROM prices WHERE chain_id = $1 AND symbol NOT IN (SELECT symbol FROM fresh)
           )
           INSERT INTO prices (chain_id, symbol, usd, updated_at) SELECT $1, symbol, usd, updated_at FROM fresh
             ON CONFLICT (chain_id, symbol) DO UPDATE SET usd = excluded.usd, updated_at = excluded.updated_at`,
    values: [
      settings.chainId,
      known.map(({ symbol }) => symbol),
      known.map(({ price }) => formatAmount(price.answer, price.decimals)),
      known.map(({ price }) => toInstant(price.updatedAt * 1_000)),
    ],
  })
}

function isPlausible({ answer, decimals }: Price): boolean {
  return answer < PRICE_LIMIT_USD * 10n ** BigInt(decimals)
}
