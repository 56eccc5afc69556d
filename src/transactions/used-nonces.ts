/**
 * Which nonces of our wallets walked blocks use, and which of them our own bytes used: read once for each step of the follower,
 * for all that follows from it.
 */
import type { Block, BlockTransaction } from '../chain/blocks.ts'
import { authorityOf } from '../keys/authority-of.ts'
import type { BlockReads } from './block-reads.ts'
import { isForChain } from './find-consumer.ts'

/** Each costs half a millisecond. What is beyond is found by halving, as long as a node has the states for it. */
const MAX_AUTHORIZATIONS = 512

/** A nonce that a transaction of a block used, its sender's or that of an account that authorized it (EIP-7702). */
type Use = {
  readonly kind: 'sent' | 'authorized'
  /** In lower case. */
  readonly from: string
  readonly nonce: number
  readonly block: Block
  readonly transaction: BlockTransaction
}

/** The same, of a wallet of ours. */
export type UsedNonce = Use & {
  /** As recorded. */
  readonly address: string
  /** Whether the service sends from the address: false where it is only watched. */
  readonly signs: boolean
  /** Our transaction whose bytes used it; `null` where others did. */
  readonly ownId: string | null
}

/** What these blocks use, in their order. Two queries, however many transactions there are; one where none of them is of a wallet. */
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
  const own = new Map(found.map(({ id, index }) => [index, id]))
  return ofWallets.map((use, index) => ({ ...use, ownId: own.get(index) ?? null }))
}

/** Each nonce once in a block: an account that signs several authorizations of one nonce uses it once. */
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
