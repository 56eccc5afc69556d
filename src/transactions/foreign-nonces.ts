/**
 * Records, while blocks are processed, in which of them foreign transactions used nonces of wallets. Once such a block
 * is final, the block itself is the proof, and every node keeps it; most nodes drop the account state of that block
 * within minutes.
 *
 * Invariant: a row says where to look, not what is true: code that acts on it reads the block.
 */
import type { Pool } from 'pg'
import type { ReadModelRow } from '../event-log/aggregate.ts'
import type { UsedNonce } from './used-nonces.ts'

/** Blocks for which rows without a waiting transaction are kept, in case a lagging node leads to a late signature. */
const KEPT_BLOCKS = 100_000

/** Rows for the nonces that foreign transactions used. */
export function foreignNonceRows(chainId: number, used: readonly UsedNonce[]): ReadModelRow<'foreign_nonces'>[] {
  return used.flatMap(({ address, nonce, block, ownId }) => {
    const row = { chain_id: chainId, address, nonce, block_number: block.number }
    return ownId === null ? [{ table: 'foreign_nonces', row }] : []
  })
}

/** Deletes rows far below the cursor that concern no open transaction. */
export async function pruneForeignNonces(pool: Pool, chainId: number, cursor: number): Promise<void> {
  await pool.query({
    name: 'prune_foreign_nonces',
    text: `DELETE FROM foreign_nonces f WHERE chain_id = $1 AND block_number < $2 AND NOT EXISTS (SELECT FROM transactions t
            WHERE t.chain_id = f.chain_id AND t.from_address = f.address AND t.nonce = f.nonce AND t.block_number IS NULL)`,
    values: [chainId, cursor - KEPT_BLOCKS],
  })
}
