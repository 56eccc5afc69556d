/** One block by its number, with its transactions, proven under the hash that a quorum names. */
import { Unavailable } from '../core/errors.ts'
import type { Nodes } from './agreement.ts'
import { disproofOfTransactions, hasOwnHash } from './block-proof.ts'
import { completeBytes, readHeaders } from './blocks.ts'
import { toQuantity } from './hex.ts'
import { type RpcRequest, rpcCall } from './json-rpc.ts'
import type { Raw } from './transaction-bytes.ts'

/**
 * The block as a node shows it: its header and its transactions have the agreed hash. Where the headers of a network do not
 * hash, it is the body that a quorum shows alike.
 *
 * @returns `null` when a quorum has no block of this number
 * @throws Unavailable when no quorum names the block, or no node shows what has the agreed hash
 */
export async function readProvenBlock(
  { agreed, nodes }: Pick<Nodes, 'agreed' | 'nodes'>,
  number: number,
): Promise<Raw | null> {
  const [header] = await readHeaders(agreed, [number])
  if (header == null) return null
  const request: RpcRequest = { method: 'eth_getBlockByNumber', params: [toQuantity(number), true] }
  let reason = 'no node shows it'
  for (const node of nodes()) {
    const [result] = await node.batch([request])
    if (!result?.ok || !isBlock(result.value) || result.value.hash !== header.hash) continue
    const block = result.value
    await completeBytes(node, [{ block }])
    const wrong = disproofOfTransactions(block, block.transactions)
    if (wrong === null) return block
    if (!hasOwnHash(block)) {
      const body = await rpcCall(agreed, request.method, request.params)
      if (isBlock(body) && body.hash === header.hash) return body
    }
    reason = wrong
  }
  throw new Unavailable('block_inconsistent', `Block ${number} (${header.hash}) is not proven: ${reason}.`)
}

/** Who is believed about a chain, in the words of `/readyz`. @throws Unavailable */
export async function whoIsBelieved({ agreed, newest, quorum }: Nodes): Promise<string> {
  const { number } = await newest('latest')
  const block = await rpcCall(agreed, 'eth_getBlockByNumber', [toQuantity(number), false])
  const hashes = typeof block === 'object' && block !== null && hasOwnHash(block as Raw)
  const who =
    quorum.nodes === 1 ? 'its one node is believed' : `what ${quorum.needed} of ${quorum.nodes} nodes say is believed`
  return hashes ? who : `${who}; its blocks do not follow from their hashes, so whole blocks are compared`
}

type RawBlock = Raw & { readonly transactions: readonly Raw[] }

function isBlock(value: unknown): value is RawBlock {
  return typeof value === 'object' && value !== null && Array.isArray((value as Raw).transactions)
}
