/**
 * Stored quotes. They are observations of a chain, not events (ADR 5): a swap records what it took from its quote. A
 * stored quote is used only if its id is that of its content: nobody who writes to the table changes what a swap does.
 * Expired ones are deleted as new ones are written, a few at a time, so that the table stays as small as its use.
 */
import type { Pool } from 'pg'
import { NotFound } from '../core/errors.ts'
import type { Row } from '../event-log/table-rows.ts'
import { quoteIdOf, type SwapQuote } from './quote.ts'

/** An expired quote is kept for this long, so that a late swap gets a precise refusal. */
const KEPT_MS = 60 * 60 * 1_000
/** More than one, so that the table shrinks after a burst. */
const DELETED_AT_ONCE = 5

export async function keepQuote(pool: Pool, quote: SwapQuote): Promise<void> {
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

/**
 * @throws NotFound `quote_not_found` when the wallet of the tenant has no such quote, it expired long ago, or its row was
 *   changed
 */
export async function readQuote(pool: Pool, tenantId: string, walletId: string, quoteId: string): Promise<SwapQuote> {
  const { rows } = await pool.query<Pick<Row<'swap_quotes', { readonly quote: SwapQuote }>, 'quote'>>({
    name: 'read_swap_quote',
    text: 'SELECT quote FROM swap_quotes WHERE quote_id = $1 AND tenant_id = $2 AND wallet_id = $3',
    values: [quoteId, tenantId, walletId],
  })
  const [row] = rows
  if (row === undefined || !isAsQuoted(row.quote, { tenantId, walletId, quoteId })) throw new NotFound('quote')
  return row.quote
}

type Asked = Pick<SwapQuote, 'tenantId' | 'walletId' | 'quoteId'>

function isAsQuoted({ quoteId: _, ...content }: SwapQuote, { tenantId, walletId, quoteId }: Asked): boolean {
  return quoteIdOf(content) === quoteId && content.tenantId === tenantId && content.walletId === walletId
}
