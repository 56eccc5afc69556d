/** Reads mints and tokens for their owner. */
import type { Pool } from 'pg'
import { NotFound, PermissionDenied } from '../../core/errors.ts'
import type { Owner } from '../../core/tenants.ts'
import type { Row } from '../../event-log/table-rows.ts'
import { TRANSACTIONS } from '../../transactions/sql.ts'
import type { CollectionRow } from '../collections/read-collections.ts'
import { FATE } from '../outcome.ts'
import { readOwners } from '../ownership/read-owners.ts'
import type { PublishedToken } from './mint-events.ts'
import { type MintView, type TokenDetailView, type TokenView, toMint, toTokens, withHolder } from './mint-view.ts'
import { countTokens, TOKEN_COLUMNS, TOKEN_TABLES, type TokenRow } from './token-rows.ts'
import { toUpdates, type UpdateRow } from './update-view.ts'

/** Token ids of the service have 48 bits; a longer one is unknown, and would not fit the column. */
const MAX_TOKEN_ID_DIGITS = 15

/**
 * @throws NotFound `mint_not_found`; PermissionDenied `environment_mismatch` when it is the owner's, in the other
 *   environment
 */
export async function readMint(pool: Pool, { tenantId, environment }: Owner, mintId: string): Promise<MintView> {
  const { rows } = await pool.query<TokenRow>({
    name: 'read_mint',
    text: `SELECT ${TOKEN_COLUMNS} FROM ${TOKEN_TABLES} WHERE t.mint_id = $1 ORDER BY t.token_id`,
    values: [mintId],
  })
  const [first] = rows
  if (first === undefined || first.tenant_id !== tenantId) throw new NotFound('mint')
  if (first.environment !== environment) {
    const message = `The API key is for ${environment} but the mint is on ${first.environment}: use a key for ${first.environment}.`
    throw new PermissionDenied('environment_mismatch', message)
  }
  return toMint(await viewsOf(pool, rows), first)
}

/**
 * Tokens of a collection, newest first.
 *
 * @param page.before tokens with a lower id than this
 */
export async function listTokens(
  pool: Pool,
  collectionId: string,
  { before, limit }: { readonly before: string | null; readonly limit: number },
): Promise<readonly TokenView[]> {
  const { rows } = await pool.query<TokenRow>({
    name: 'list_tokens',
    text: `SELECT ${TOKEN_COLUMNS} FROM ${TOKEN_TABLES} WHERE t.collection_id = $1 AND ($2::bigint IS NULL OR t.token_id < $2)
           ORDER BY t.token_id DESC LIMIT $3`,
    values: [collectionId, before, limit],
  })
  return (await viewsOf(pool, rows.toReversed())).toReversed()
}

/** As the mints say, without its owners. @param tokenId decimal digits @throws NotFound `token_not_found` */
export async function readMintedToken(
  pool: Pool,
  collectionId: string,
  tokenId: string,
): Promise<Omit<TokenDetailView, 'owners'>> {
  if (tokenId.length > MAX_TOKEN_ID_DIGITS) throw new NotFound('token')
  const { rows } = await pool.query<TokenRow & Pick<Row<'nft_metadata'>, 'content'>>({
    name: 'read_token',
    text: `SELECT d.content, ${TOKEN_COLUMNS} FROM ${TOKEN_TABLES} JOIN nft_metadata d ON d.cid = coalesce(u.cid, t.cid)
           WHERE t.collection_id = $1 AND t.token_id = $2`,
    values: [collectionId, tokenId],
  })
  const [view] = await viewsOf(pool, rows)
  if (view === undefined) throw new NotFound('token')
  const updates = await readUpdates(pool, collectionId, tokenId)
  return {
    ...view,
    ...toUpdates(updates, rows[0]?.base_uri ?? ''),
    metadata: JSON.parse(rows[0]?.content ?? '{}') as PublishedToken,
  }
}

/** One token in the form of the API: its mint, its metadata, and its holder. @throws NotFound `token_not_found` */
export async function readToken(
  pool: Pool,
  { collection_id, chain_id, contract_address }: CollectionRow,
  tokenId: string,
): Promise<TokenDetailView> {
  const view = await readMintedToken(pool, collection_id, tokenId)
  const owners = (await readOwners(pool, chain_id, contract_address, [view.token_id])).get(view.token_id) ?? []
  return { ...withHolder(view, owners), owners }
}

/** @param rows consecutive tokens of one collection, lowest id first */
async function viewsOf(pool: Pool, rows: readonly TokenRow[]): Promise<readonly TokenView[]> {
  const [first] = rows
  if (first === undefined) return []
  const counts = first.collection_type === 'SERIES'
  return toTokens(rows, counts ? await countTokens(pool, first.collection_id, first.token_id) : 0)
}

/** Updates of a token since its mint: the newest hundred, in order of acceptance. A freeze that has not failed is always the last one. */
async function readUpdates(pool: Pool, collectionId: string, tokenId: string): Promise<UpdateRow[]> {
  const { rows } = await pool.query<UpdateRow>({
    name: 'read_token_updates',
    text: `SELECT u.cid, u.transaction_id, ${FATE}
             FROM (SELECT cid, transaction_id, sequence FROM nft_token_updates
                    WHERE collection_id = $1 AND token_id = $2 ORDER BY sequence DESC LIMIT 100) u
             JOIN ${TRANSACTIONS} x ON x.transaction_id = u.transaction_id ORDER BY u.sequence`,
    values: [collectionId, tokenId],
  })
  return rows
}
