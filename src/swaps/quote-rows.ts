/**
 * Stored quotes. They are observations of a chain, not events (ADR 5): a swap records what it took from its quote.
 * Expired ones are deleted as new ones are written, a few at a time, so that the table stays as small as its use.
 */
import type { Pool } from 'pg'
import type { SwapQuote } from './quote.ts'

/** An expired quote is kept for this long, so that a late swap gets a precise refusal. */
const KEPT_MS = 60 * 60 * 1_000
/** More than one, so that the table shrinks after a burst. */
const DELETED_AT_ONCE = 5

export type KeepQuote = (quote: SwapQuote) => Promise<void>

export function createKeepQuote(pool: Pool): KeepQuote {
  return async (quote) => {
    const { quoteId, tenantId, walletId, expiresAt } = quote
    await pool.query({
      name: 'keep_swap_quote',
      text: `WITH expired AS (
               SELECT quote_id FROM swap_quotes WHERE expires_at < $6 ORDER BY expires_at LIMIT ${DELETED_AT_ONCE}
             ), gone AS (
               DELETE FROM swap_quotes WHERE quote_id IN (SELECT quote_id FROM expired)
             )
             INSERT INTO swap_quotes (quote_id, tenant_id, wallet_id, quote, expires_at) VALUES ($1, $2, $3, $4, $5)`,
      values: [
        quoteId,
        tenantId,
        walletId,
        JSON.stringify(quote),
        expiresAt,
        new Date(Date.parse(quote.quotedAt) - KEPT_MS).toISOString(),
      ],
    })
  }
}
