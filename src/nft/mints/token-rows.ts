/** Rows of tokens with all that a view needs: their mint, their collection, and what their transaction says of them. */
import type { Pool } from 'pg'
import type { Environment } from '../../core/networks.ts'
import type { CollectionType } from '../collections/events.ts'
import { FAILED_IN_SQL } from '../outcome.ts'
import type { MintingType } from './events.ts'

export type TokenRow = {
  readonly tenant_id: string
  readonly environment: Environment
  /** `bigint` as text. */
  readonly token_id: string
  readonly collection_id: string
  readonly mint_id: string
  readonly minting_type: MintingType
  readonly collection_type: CollectionType
  readonly base_uri: string
  readonly recipient: string | null
  /** `numeric` as text. */
  readonly amount: string
  readonly cid: string
  readonly created_at: Date
  readonly transaction_id: string | null
  /** All of the transaction's are null as long as the token has none. */
  readonly state: string | null
  readonly succeeded: boolean | null
  readonly hash: string | null
  readonly failure: { readonly code: string; readonly message: string } | null
}

/** Of `nft_tokens` as `t`, with `m`, `c` and `x` for its mint, its collection and its transaction. */
export const TOKEN_COLUMNS = `m.tenant_id, c.environment, t.token_id, t.collection_id, t.mint_id, m.minting_type, c.collection_type,
  c.base_uri, t.recipient, t.amount, t.cid, t.created_at, t.transaction_id, x.state, x.succeeded, x.hash, x.failure`
export const TOKEN_TABLES = `nft_tokens t JOIN nft_mints m ON m.mint_id = t.mint_id
  JOIN nft_collections c ON c.collection_id = t.collection_id
  LEFT JOIN transactions x ON x.transaction_id = t.transaction_id`

/**
 * How many tokens of a collection were given a number below `tokenId` and have not failed: what counts against the maximum
 * supply, and how far a series has come.
 *
 * @param tokenId `null` for all of them
 */
export async function countTokens(pool: Pool, collectionId: string, tokenId: string | null): Promise<number> {
  const { rows } = await pool.query<{ count: string }>({
    name: 'count_tokens',
    text: `SELECT count(*) FROM nft_tokens t LEFT JOIN transactions x ON x.transaction_id = t.transaction_id
            WHERE t.collection_id = $1 AND ($2::bigint IS NULL OR t.token_id < $2) AND NOT ${FAILED_IN_SQL}`,
    values: [collectionId, tokenId],
  })
  return Number(rows[0]?.count ?? 0)
}

/** The id that the next token of a collection gets. */
export async function nextTokenId(pool: Pool, collectionId: string): Promise<number> {
  const { rows } = await pool.query<{ token_id: string }>({
    name: 'newest_token',
    text: 'SELECT token_id FROM nft_tokens WHERE collection_id = $1 ORDER BY token_id DESC LIMIT 1',
    values: [collectionId],
  })
  return Number(rows[0]?.token_id ?? 0) + 1
}
