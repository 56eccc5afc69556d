/** Reads the updates of a token since its mint. */
import type { Pool } from 'pg'
import { TRANSACTIONS } from '../../transactions/sql.ts'
import { FATE } from '../outcome.ts'
import type { UpdateRow } from './update-view.ts'

/** The newest hundred, in order of acceptance. A freeze that has not failed is always the last one. */
export async function readUpdates(pool: Pool, collectionId: string, tokenId: string): Promise<UpdateRow[]> {
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
