/**
 * By how much a block changed balances. Proven where a node shows account proofs under the state roots of the block and its
 * parent (EIP-1186); otherwise agreed by a quorum. One node alone is believed for neither.
 */
import { provenBalance } from './account-proof.ts'
import type { Nodes } from './agreement.ts'
import { hasOwnHash } from './block-proof.ts'
import type { BlockHeader } from './blocks.ts'
import { readQuantity } from './hex.ts'
import type { RpcReader, RpcRequest, RpcResult } from './json-rpc.ts'
import { isSame, type Raw } from './transaction-bytes.ts'

export type BalanceChange = { readonly standing: 'proven' | 'agreed'; readonly wei: bigint }

/**
 * @param block whose hash is agreed; its parent hash follows from it
 * @param addresses in lower case
 * @returns what could be read, by address: without it nothing is told that it would have to show
 * @throws Unavailable when a quorum answers with what is no balance
 */
export async function readBalanceChanges(
  { agreed, nodes, quorum }: Pick<Nodes, 'agreed' | 'nodes' | 'quorum'>,
  block: Pick<BlockHeader, 'hash' | 'parentHash'>,
  addresses: readonly string[],
): Promise<ReadonlyMap<string, BalanceChange>> {
  const changes = new Map<string, BalanceChange>()
  const open = () => addresses.filter((address) => !changes.has(address))
  for (const node of nodes()) {
    if (open().length === 0) break
    for (const [address, wei] of await readProven(node, block, open()))
      changes.set(address, { standing: 'proven', wei })
  }
  if (quorum.needed > 1 && open().length > 0)
    for (const [address, wei] of await readAgreed(agreed, block, open()))
      changes.set(address, { standing: 'agreed', wei })
  return changes
}

type Blocks = Pick<BlockHeader, 'hash' | 'parentHash'>
type Change = readonly [address: string, wei: bigint]

/** In one batch: two headers without transactions, and two proofs of each account. */
async function readProven(node: RpcReader, blocks: Blocks, addresses: readonly string[]): Promise<Change[]> {
  const hashes = [blocks.parentHash, blocks.hash]
  const results = await node.batch([
    ...hashes.map((hash): RpcRequest => ({ method: 'eth_getBlockByHash', params: [hash, false] })),
    ...requestsOf(blocks, addresses, (address, at) => ({ method: 'eth_getProof', params: [address, [], at] })),
  ])
  const [before, after] = hashes.map((hash, i) => stateRootOf(results[i], hash))
  if (before == null || after == null) return []
  const balance = (root: unknown, address: string, result: RpcResult | undefined) =>
    provenBalance(root, address, fieldsOf(result)?.accountProof).balance
  return addresses.flatMap((address, i) => {
    const was = balance(before, address, results[2 + 2 * i])
    const is = balance(after, address, results[3 + 2 * i])
    return was === null || is === null ? [] : [[address, is - was] as const]
  })
}

async function readAgreed(agreed: RpcReader, blocks: Blocks, addresses: readonly string[]): Promise<Change[]> {
  const results = await agreed.batch(
    requestsOf(blocks, addresses, (address, at) => ({ method: 'eth_getBalance', params: [address, at] })),
  )
  return addresses.flatMap((address, i) => {
    const [was, is] = [results[2 * i], results[2 * i + 1]]
    if (was?.ok !== true || is?.ok !== true) return []
    return [[address, readQuantity(is.value, 'a balance') - readQuantity(was.value, 'a balance')] as const]
  })
}

/** Of each address at the parent and at the block, by their hashes (EIP-1898). */
function requestsOf(
  { hash, parentHash }: Blocks,
  addresses: readonly string[],
  request: (address: string, at: object) => RpcRequest,
): RpcRequest[] {
  return addresses.flatMap((address) => [parentHash, hash].map((blockHash) => request(address, { blockHash })))
}

/** `null` unless the header has the hash. */
function stateRootOf(result: RpcResult | undefined, hash: string): unknown {
  const header = fieldsOf(result)
  return header !== null && isSame(header.hash, hash) && hasOwnHash(header) ? header.stateRoot : null
}

function fieldsOf(result: RpcResult | undefined): Raw | null {
  return result?.ok === true && typeof result.value === 'object' && result.value !== null ? (result.value as Raw) : null
}
