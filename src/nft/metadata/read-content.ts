/** Reads published metadata by its CID: one lookup by primary key. */
import type { Pool } from 'pg'

/** The exact text that was hashed; null when no metadata with that CID was minted here. */
export type ReadContent = (cid: string) => Promise<string | null>

export function createReadContent(pool: Pool): ReadContent {
  return async (cid) => {
    const { rows } = await pool.query<{ content: string }>({
      name: 'read_nft_metadata',
      text: 'SELECT content FROM nft_metadata WHERE cid = $1',
      values: [cid],
    })
    return rows[0]?.content ?? null
  }
}
