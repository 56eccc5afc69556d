/** The tokens that open transfers of a wallet move, for other parts that must leave them alone. */
import type { Pool } from 'pg'
import type { Row } from '../../event-log/table-rows.ts'
import type { TokenInTransfer } from '../../transactions/managed-contracts.ts'
import { isUnmined, TRANSACTIONS } from '../../transactions/sql.ts'
import type { TokenStandard } from '../contracts/collection.ts'

/** Each token once. */
export async function readTokensInTransfer(
  pool: Pool,
  chainId: number,
  from: string,
): Promise<readonly TokenInTransfer[]> {
  const { rows } = await pool.query<
    Pick<Row<'nft_collections', { readonly standard: TokenStandard }>, 'contract_address' | 'standard'> &
      Pick<Row<'nft_transfer_items'>, 'token_id' | 'transfer_id'>
  >({
    name: 'tokens_in_transfer',
    text: `SELECT DISTINCT ON (i.collection_id, i.token_id) c.contract_address, c.standard, i.token_id, i.transfer_id
             FROM ${TRANSACTIONS} t JOIN nft_transfer_items i USING (transaction_id) JOIN nft_collections c USING (collection_id)
            WHERE t.chain_id = $1 AND t.from_address = $2 AND t.type = 'NFT_TRANSFER' AND ${isUnmined('t')}
            ORDER BY i.collection_id, i.token_id, i.transfer_id`,
    values: [chainId, from],
  })
  return rows.map((row) => ({
    contract: row.contract_address,
    standard: row.standard,
    tokenId: BigInt(row.token_id),
    transferId: row.transfer_id,
  }))
}
