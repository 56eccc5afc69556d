/** The tokens that an address holds in collections of this service, whoever's they are; newest collection first. */
import type { Pool } from 'pg'
import type { Row } from '../../event-log/table-rows.ts'
import type { TokenStandard } from '../contracts/collection.ts'

export type WalletTokensQuery = {
  readonly tenantId: string
  readonly chainId: number
  /** EIP-55. */
  readonly address: string
  readonly collectionId?: string | undefined
  /** The last token shown. */
  readonly before?: { readonly collectionId: string; readonly tokenId: string } | undefined
  readonly limit: number
}

/** A row of `nft_owners` with data of its collection and mint. */
export type WalletTokenRow = Pick<Row<'nft_owners'>, 'collection_id' | 'token_id' | 'amount'> &
  Pick<Row<'nft_collections', { readonly standard: TokenStandard }>, 'contract_address' | 'standard'> & {
    /** `null` when the service did not mint the token. */
    readonly metadata_uri: string | null
    readonly name: string | null
    /** Also `null` for an image inside of another tenant's metadata: anybody can mint any, of any size, to any address. */
    readonly image: string | null
  }

export async function readWalletTokens(pool: Pool, query: WalletTokensQuery): Promise<WalletTokenRow[]> {
  const { rows } = await pool.query<WalletTokenRow>({
    name: 'tokens_of_wallet',
    text: `SELECT o.collection_id, c.contract_address, c.standard, o.token_id, o.amount,
                  c.base_uri || k.cid AS metadata_uri, m.content::jsonb->>'name' AS name,
                  CASE WHEN c.tenant_id = $7 OR NOT starts_with(lower(m.content::jsonb->>'image'), 'data:')
                       THEN m.content::jsonb->>'image' END AS image
             FROM nft_owners o JOIN nft_collections c ON c.collection_id = o.collection_id
             LEFT JOIN nft_tokens k ON k.collection_id = o.collection_id
                   AND k.token_id = CASE WHEN o.token_id < 2::numeric ^ 63 THEN o.token_id::bigint END
             LEFT JOIN nft_metadata m ON m.cid = k.cid
            WHERE o.chain_id = $1 AND o.owner = $2 AND o.amount > 0 AND ($3::text IS NULL OR o.collection_id = $3)
              AND ($4::text IS NULL OR (o.collection_id, o.token_id) < ($4, $5::numeric))
            ORDER BY o.collection_id DESC, o.token_id DESC LIMIT $6`,
    values: [
      query.chainId,
      query.address,
      query.collectionId ?? null,
      query.before?.collectionId ?? null,
      query.before?.tokenId ?? null,
      query.limit,
      query.tenantId,
    ],
  })
  return rows
}
