/** Reads published metadata by its CID: one lookup by primary key. Text that does not have this CID is not published. */
import type { Pool } from 'pg'
import type { Row } from '../../event-log/table-rows.ts'
import { cidOf } from './cid.ts'

/** The exact text that was hashed; null when no metadata with that CID was minted here. */
export type ReadContent = (cid: string) => Promise<string | null>

export function createReadContent(pool: Pool): ReadContent {
  return async (cid) => {
    const { rows } = await pool.query<Pick<Row<'nft_metadata'>, 'content'>>({
      name: 'read_nft_metadata',
      text: 'SELECT content FROM nft_metadata WHERE cid = $1',
      values: [cid],
    })
    const content = rows[0]?.content
    return content !== undefined && cidOf(Buffer.from(content, 'utf8')) === cid ? content : null
  }
}
