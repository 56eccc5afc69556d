/**
 * Finds the transaction of a chain that used a nonce of an account. Nodes tell how many transactions an account had sent
 * at each block, so the block is found by halving and only that one is read.
 */
import { readCount, toQuantity } from '../chain/hex.ts'
import { type RpcReader, rpcCall } from '../chain/json-rpc.ts'

export type Consumer = { readonly hash: string; readonly blockNumber: number; readonly blockHash: string }

export type AccountNonce = { readonly address: string; readonly nonce: number }

type RawBlock = {
  readonly hash: string
  readonly transactions: readonly { readonly hash: string; readonly from: string; readonly nonce: string }[]
}

/**
 * @param highest a block at which the nonce is used; the search begins there and widens downwards
 * @returns `null` when the node says that the nonce is used and shows no transaction that used it: that proves nothing
 * @throws Unavailable, or ChainRefused when the node no longer has the state of a block
 */
export async function findConsumer(
  client: RpcReader,
  { address, nonce }: AccountNonce,
  highest: number,
): Promise<Consumer | null> {
  const isUsedAt = async (block: number): Promise<boolean> => {
    const count = await rpcCall(client, 'eth_getTransactionCount', [address, toQuantity(block)])
    return readCount(count, 'a transaction count') > nonce
  }
  // Invariant: the nonce is used at `used`, and is not at `unused`.
  let used = highest
  let unused = highest
  for (let width = 1; unused === used; width *= 2) {
    const below = Math.max(0, used - width)
    if (!(await isUsedAt(below))) unused = below
    else if (below === 0) return null
    else [used, unused] = [below, below]
  }
  while (used - unused > 1) {
    const middle = Math.floor((used + unused) / 2)
    if (await isUsedAt(middle)) used = middle
    else unused = middle
  }
  const block = (await rpcCall(client, 'eth_getBlockByNumber', [toQuantity(used), true])) as RawBlock | null
  const found = block?.transactions.find(
    (transaction) =>
      transaction.from.toLowerCase() === address.toLowerCase() && readCount(transaction.nonce, 'a nonce') === nonce,
  )
  if (block === null || found === undefined) return null
  return { hash: found.hash.toLowerCase(), blockNumber: used, blockHash: block.hash.toLowerCase() }
}
