/** Rows of tokens with everything a view needs: mint, collection, and the outcome of the transaction. */
import type { Pool } from 'pg'
import type { OrNull, Row } from '../../event-log/table-rows.ts'
import { TRANSACTIONS } from '../../transactions/sql.ts'
import type { CollectionType } from '../collections/events.ts'
import { doneInSql, FAILED_IN_SQL, FATE, type Fate } from '../outcome.ts'
import type { MintingType, VoucherUse } from './mint-events.ts'

type Token = Row<'nft_tokens'>
type Voucher = OrNull<Row<'nft_vouchers'>>
type Revocation = OrNull<Fate>

export type TokenRow = Pick<
  Token,
  'token_id' | 'collection_id' | 'mint_id' | 'recipient' | 'amount' | 'cid' | 'created_at' | 'transaction_id'
> &
  Pick<Row<'nft_mints', { readonly minting_type: MintingType }>, 'tenant_id' | 'minting_type'> &
  Pick<
    Row<'nft_collections', { readonly collection_type: CollectionType }>,
    'environment' | 'collection_type' | 'base_uri' | 'chain_id' | 'contract_address'
  > &
  /** Null while the token has no transaction. */
  OrNull<Fate> &
  Pick<Voucher, 'valid_until' | 'signature' | 'revocation_id' | 'used_by' | 'used_hash' | 'used_transaction_id'> & {
    /** Of the metadata in the mint request; `cid` is of its current metadata on chain. */
    readonly minted_cid: Token['cid']
    /** From here on only for a LAZY mint. The voucher's recipient; null for whoever redeems. */
    readonly named: Voucher['recipient']
    readonly revocation_state: Revocation['state']
    readonly revocation_succeeded: Revocation['succeeded']
    readonly revocation_hash: Revocation['hash']
    /** What the contract logged of the id, and by whom and which transaction; null while nothing did. */
    readonly used_as: VoucherUse['as'] | null
    /** While no use is recorded: a holder of the token, which shows a use from before uses were recorded. */
    readonly holder: Row<'nft_owners'>['owner'] | null
  }

/** Of token `t` of voucher `v`. */
const HOLDER = `(SELECT n.owner FROM nft_owners n WHERE n.chain_id = v.chain_id AND n.contract = v.contract
  AND n.token_id = t.token_id AND n.amount > 0 ORDER BY n.amount DESC, n.owner LIMIT 1)`
/** What the chain did with the id of token `t` of voucher `v`. Of a use from before uses were recorded, only a holder shows it. */
export const USED_AS = `coalesce(v.used_as, CASE WHEN ${HOLDER} IS NOT NULL THEN 'minted' END)`

/**
 * Of `nft_tokens` as `t`, with `m`, `c` and `x` for its mint, collection and transaction; `v` and `r` for its
 * voucher and the voucher's revocation; `u` for the newest successful change of its metadata.
 */
export const TOKEN_COLUMNS = `m.tenant_id, c.environment, t.token_id, t.collection_id, t.mint_id, m.minting_type, c.collection_type,
  c.base_uri, t.recipient, t.amount, coalesce(u.cid, t.cid) AS cid, t.cid AS minted_cid, c.chain_id, c.contract_address, t.created_at,
  t.transaction_id, ${FATE}, v.recipient AS named, v.valid_until, v.signature, v.revocation_id,
  v.used_as, v.used_by, v.used_hash, v.used_transaction_id, CASE WHEN v.used_as IS NULL THEN ${HOLDER} END AS holder,
  r.state AS revocation_state, r.succeeded AS revocation_succeeded, r.hash AS revocation_hash`
export const TOKEN_TABLES = `nft_tokens t JOIN nft_mints m ON m.mint_id = t.mint_id
  JOIN nft_collections c ON c.collection_id = t.collection_id
  LEFT JOIN ${TRANSACTIONS} x ON x.transaction_id = t.transaction_id
  LEFT JOIN nft_vouchers v ON v.mint_id = t.mint_id
  LEFT JOIN ${TRANSACTIONS} r ON r.transaction_id = v.revocation_id
  LEFT JOIN LATERAL (SELECT p.cid FROM nft_token_updates p JOIN ${TRANSACTIONS} y ON y.transaction_id = p.transaction_id
     WHERE c.collection_type = 'DYNAMIC' AND p.collection_id = t.collection_id AND p.token_id = t.token_id
       AND p.cid IS NOT NULL AND ${doneInSql('y')} ORDER BY p.sequence DESC LIMIT 1) u ON true`

/**
 * The number of tokens of a collection with a number below `tokenId` that exist or may still be minted: counts against
 * the maximum supply, and determines the editions of a series.
 *
 * A voucher keeps its place, however often its redemption failed, until it is revoked.
 *
 * @param tokenId `null` for all of them
 */
export async function countTokens(pool: Pool, collectionId: string, tokenId: string | null): Promise<number> {
  const { rows } = await pool.query<{ count: string }>({
    name: 'count_tokens',
    text: `SELECT count(*) FROM nft_tokens t LEFT JOIN ${TRANSACTIONS} x ON x.transaction_id = t.transaction_id
             LEFT JOIN nft_vouchers v ON v.mint_id = t.mint_id
             LEFT JOIN ${TRANSACTIONS} r ON r.transaction_id = v.revocation_id
            WHERE t.collection_id = $1 AND ($2::bigint IS NULL OR t.token_id < $2)
              AND NOT CASE WHEN v.mint_id IS NULL THEN ${FAILED_IN_SQL} ELSE v.used_as IS NOT DISTINCT FROM 'revoked' OR ${doneInSql('r')} END`,
    values: [collectionId, tokenId],
  })
  return Number(rows[0]?.count ?? 0)
}

/** The id of the next token of a collection. */
export async function nextTokenId(pool: Pool, collectionId: string): Promise<number> {
  const { rows } = await pool.query<Pick<Row<'nft_tokens'>, 'token_id'>>({
    name: 'newest_token',
    text: 'SELECT token_id FROM nft_tokens WHERE collection_id = $1 ORDER BY token_id DESC LIMIT 1',
    values: [collectionId],
  })
  return Number(rows[0]?.token_id ?? 0) + 1
}
