/** Replaces the newest blocks of a local chain with others. */
import { toQuantity } from '../../src/chain/hex.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'

export type Reorganisation = {
  /** Blocks to remove. */
  readonly depth: number
  /** Their transactions are mined again, all in the last of the new blocks; otherwise the node forgets them. */
  readonly again: boolean
}

type Block = { readonly hash: string; readonly transactions: readonly string[] }

/** @throws Error when the node cannot do it, or when the branch is the same as before */
export async function reorganise(url: string, { depth, again }: Reorganisation): Promise<void> {
  const head = Number(await callRpc(url, 'eth_blockNumber'))
  const numbers = Array.from({ length: depth }, (_, index) => head - depth + 1 + index)
  const blocks = await Promise.all(numbers.map((number) => blockAt(url, number)))
  const hashes = again ? blocks.flatMap(({ transactions }) => transactions) : []
  const raw = (await Promise.all(hashes.map((hash) => callRpc(url, 'eth_getRawTransactionByHash', [hash])))) as string[]
  await callRpc(url, 'anvil_reorg', [depth, raw.map((bytes) => [bytes, depth - 1])])
  const first = await blockAt(url, numbers[0] ?? 0)
  if (first.hash === blocks[0]?.hash) throw new Error('the branch is the same')
}

async function blockAt(url: string, number: number): Promise<Block> {
  return (await callRpc(url, 'eth_getBlockByNumber', [toQuantity(number), false])) as Block
}
