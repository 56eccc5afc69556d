/** Prices that are recent enough to value with. */
import type { Pool } from 'pg'
import { type Clock, toInstant } from '../core/ids.ts'
import type { Row } from '../event-log/table-rows.ts'
import { MAX_PRICE_AGE_MS } from './prices.ts'

/** US dollars for one whole unit, and when the feed updated it. */
export type CurrentPrice = { readonly usd: string; readonly at: string }

/** By symbol: for the native currency and configured tokens only. */
export type CurrentPrices = (chainId: number) => Promise<ReadonlyMap<string, CurrentPrice>>

export function createCurrentPrices({ pool, clock }: { readonly pool: Pool; readonly clock: Clock }): CurrentPrices {
  return async (chainId) => {
    const { rows } = await pool.query<Pick<Row<'prices'>, 'symbol' | 'usd' | 'updated_at'>>({
      name: 'current_prices',
      text: 'SELECT symbol, trim_scale(usd) AS usd, updated_at FROM prices WHERE chain_id = $1 AND updated_at > $2',
      values: [chainId, toInstant(clock() - MAX_PRICE_AGE_MS)],
    })
    return new Map(rows.map((row) => [row.symbol, { usd: row.usd, at: row.updated_at.toISOString() }]))
  }
}
