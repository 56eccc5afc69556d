/**
 * The nonces of wallets that processed blocks use, and which of them were used by our own bytes: read once for each
 * step of the follower. Those of foreign transactions are recorded with the blocks. Once such a block is final, the block
 * itself is the proof, and every node keeps it; most nodes drop the account state of that block within minutes.
 *
 * Invariant: a row says where to look, not what is true: code that acts on it reads the block.
 */
import type { Pool } from 'pg'
import type { Block, BlockTransaction } from '../chain/blocks.ts'
import type { ReadModelRow } from '../event-log/aggregate.ts'
import { authorityOf } from '../keys/authority-of.ts'
import type { BlockReads } from './block-reads.ts'
import { isForChain } from './find-consumer.ts'

/** Each costs half a millisecond. Further ones are found by binary search, as long as a node has the states for it. */
const MAX_AUTHORIZATIONS = 512

/** A nonce used in a block by the sender of a transaction, or by an account that signed an authorization (EIP-7702). */
type Use = {
  readonly kind: 'sent' | 'authorized'
  /** In lower case. */
  readonly from: string
  readonly nonce: number
  readonly block: Block
  readonly transaction: BlockTransaction
}

/** The same, for a wallet. */
export type UsedNonce = Use & {
  /** As recorded. */
  readonly address: string
  /** Whether the service sends from the address: false when it is only watched. */
  readonly signs: boolean
  /** Our transaction whose bytes used it; `null` for a foreign transaction. */
  readonly ownId: string | null
  /** The asset that it sends. */
  readonly ownAssetId: string | null
}

/**
 * The nonces that these blocks use, in order. Two queries for any number of transactions; one if none of them belongs
 * to a wallet.
 */
export async function readUsedNonces(
  reads: Pick<BlockReads, 'ownSenders' | 'byNonce'>,
  chainId: number,
  blocks: readonly Block[],
): Promise<UsedNonce[]> {
  const uses = usesIn(blocks, chainId)
  if (uses.length === 0) return []
  const wallets = await reads.ownSenders(chainId, [...new Set(uses.map(({ from }) => from))])
  if (wallets.length === 0) return []
  const recorded = new Map(wallets.map((wallet) => [wallet.address.toLowerCase(), wallet]))
  const ofWallets = uses.flatMap((use) => {
    const wallet = recorded.get(use.from)
    return wallet === undefined ? [] : [{ ...use, ...wallet }]
  })
  const found = await reads.byNonce(
    chainId,
    ofWallets.map(({ address, nonce, transaction: { hash } }) => ({ address, nonce, hash })),
  )
  const own = new Map(found.map((one) => [one.index, one]))
  return ofWallets.map((use, index) => {
    const one = own.get(index)
    return { ...use, ownId: one?.id ?? null, ownAssetId: one?.assetId ?? null }
  })
}

/** Each nonce once per block: an account that signs several authorizations of one nonce uses it once. */
function usesIn(blocks: readonly Block[], chainId: number): Use[] {
  let authorizations = 0
  const uses = new Map<string, Use>()
  for (const block of blocks)
    for (const transaction of block.transactions) {
      const { from, nonce } = transaction
      uses.set(`${block.number} ${from} ${nonce}`, { kind: 'sent', from, nonce, block, transaction })
      const room = Math.max(0, MAX_AUTHORIZATIONS - authorizations)
      authorizations += transaction.authorizations.length
      for (const one of authorizedBy(transaction, chainId, room)) {
        const name = `${block.number} ${one.from} ${one.nonce}`
        if (!uses.has(name)) uses.set(name, { kind: 'authorized', ...one, block, transaction })
      }
    }
  return [...uses.values()]
}

function authorizedBy({ authorizations }: BlockTransaction, chainId: number, room: number) {
  return authorizations.slice(0, room).flatMap((item): { from: string; nonce: number }[] => {
    if (!isForChain(item, chainId) || item.nonce > BigInt(Number.MAX_SAFE_INTEGER)) return []
    const from = authorityOf(item)
    return from === null ? [] : [{ from, nonce: Number(item.nonce) }]
  })
}

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
