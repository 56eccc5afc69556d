/**
 * Records, while blocks are walked, in which of them others used nonces of our wallets. Once such a block is final the block
 * itself is the proof, and every node keeps it; the state of the account at that block is gone from most nodes within minutes.
 *
 * Invariant: a row says where to look, and never what is true: whoever acts on it reads the block.
 */
import type { Pool } from 'pg'
import type { Block, BlockTransaction } from '../chain/blocks.ts'
import type { ReadModelRow } from '../event-log/aggregate.ts'
import { authorityOf } from '../keys/authority-of.ts'
import type { BlockReads } from './block-reads.ts'
import { isForChain } from './find-consumer.ts'

/** Each costs half a millisecond. What is beyond is found by halving, as long as a node has the states for it. */
const MAX_AUTHORIZATIONS = 512
/** Rows of nonces that nobody waits for are kept for so many blocks, for what a lagging node lets be signed late. */
const KEPT_BLOCKS = 100_000

/** A nonce that somebody used in a block, by an address in lower case. */
type Used = { readonly from: string; readonly nonce: number; readonly hash: string; readonly block: number }

/** Rows for what blocks say of nonces of our wallets, beside our own transactions. */
export type ForeignNonceRows = (blocks: readonly Block[]) => Promise<ReadModelRow[]>

export function createForeignNonceRows(
  reads: Pick<BlockReads, 'ownSenders' | 'notOurs'>,
  chainId: number,
): ForeignNonceRows {
  return async (blocks) => {
    const used = usedIn(blocks, chainId)
    if (used.length === 0) return []
    const addresses = await reads.ownSenders(chainId, [...new Set(used.map(({ from }) => from))])
    if (addresses.length === 0) return []
    const recorded = new Map(addresses.map((address) => [address.toLowerCase(), address]))
    const ofWallets = used.flatMap(({ from, ...one }) => {
      const address = recorded.get(from)
      return address === undefined ? [] : [{ ...one, address }]
    })
    const foreign = await reads.notOurs(chainId, ofWallets)
    return foreign.map(({ address, nonce, block }) => ({
      table: 'foreign_nonces',
      row: { chain_id: chainId, address, nonce, block_number: block },
    }))
  }
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

/** Each once in a block: an account that signs several authorizations of one nonce uses it once. */
function usedIn(blocks: readonly Block[], chainId: number): Used[] {
  let authorizations = 0
  const used = new Map<string, Used>()
  for (const { number: block, transactions } of blocks)
    for (const transaction of transactions) {
      const { hash, from, nonce } = transaction
      used.set(`${block} ${from} ${nonce}`, { from, nonce, hash, block })
      const room = Math.max(0, MAX_AUTHORIZATIONS - authorizations)
      authorizations += transaction.authorizations.length
      for (const one of authorizedBy(transaction, chainId, room)) {
        const name = `${block} ${one.from} ${one.nonce}`
        if (!used.has(name)) used.set(name, { ...one, hash, block })
      }
    }
  return [...used.values()]
}

function authorizedBy({ authorizations }: BlockTransaction, chainId: number, room: number) {
  return authorizations.slice(0, room).flatMap((item): { from: string; nonce: number }[] => {
    if (!isForChain(item, chainId) || item.nonce > BigInt(Number.MAX_SAFE_INTEGER)) return []
    const from = authorityOf(item)
    return from === null ? [] : [{ from, nonce: Number(item.nonce) }]
  })
}
