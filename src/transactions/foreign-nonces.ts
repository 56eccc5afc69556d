/**
 * Records, while blocks are walked, in which of them others used nonces of our wallets. Once such a block is final the block
 * itself is the proof, and every node keeps it; the state of the account at that block is gone from most nodes within minutes.
 *
 * Invariant: a row says where to look, and never what is true: whoever acts on it reads the block.
 */
import type { Pool } from 'pg'
import type { ReadModelRow } from '../event-log/aggregate.ts'
import type { UsedNonce } from './used-nonces.ts'

/** Rows of nonces that nobody waits for are kept for so many blocks, for what a lagging node lets be signed late. */
const KEPT_BLOCKS = 100_000

/** Rows for the nonces that others used. */
export function foreignNonceRows(chainId: number, used: readonly UsedNonce[]): ReadModelRow[] {
  return used.flatMap(({ address, nonce, block, ownId }) => {
    const row = { chain_id: chainId, address, nonce, block_number: block.number }
    return ownId === null ? [{ table: 'foreign_nonces', row }] : []
  })
}

/** Forgets what is far below the cursor and concerns nothing that is still open. */
export async function pruneForeignNonces(pool: Pool, chainId: number, cursor: number): Promise<void> {
  await pool.query({
    name: 'prune_foreign_nonces',
    text: `DELETE FROM foreign_nonces f WHERE chain_id = $1 AND block_number < $2 AND NOT EXISTS (SELECT FROM transactions t
            WHERE t.chain_id = f.chain_id AND t.from_address = f.address AND t.nonce = f.nonce AND t.block_number IS NULL)`,
    values: [chainId, cursor - KEPT_BLOCKS],
  })
}
