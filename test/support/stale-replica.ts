/** A node as of some blocks ago: the real node's answers, limited to an older head. */
import { toQuantity } from '../../src/chain/hex.ts'
import type { Message, RpcCall } from './node-fates.ts'

/** Methods that read a state, and the index of their block parameter. */
const STATE_AT: Readonly<Record<string, number>> = {
  eth_getBalance: 1,
  eth_getTransactionCount: 1,
  eth_getCode: 1,
  eth_call: 1,
  eth_estimateGas: 1,
  eth_feeHistory: 1,
  eth_simulateV1: 1,
  eth_getBlockByNumber: 0,
  eth_getBlockReceipts: 0,
  eth_getBlockTransactionCountByNumber: 0,
}
/** Methods that read a block, which return null on a node that never saw it. */
const OF_BLOCKS = new Set(['eth_getBlockByNumber', 'eth_getBlockReceipts', 'eth_getBlockTransactionCountByNumber'])
const QUANTITY = /^0x[0-9a-f]{1,13}$/i

/**
 * Queries a node as if it were `behind` blocks lower. Submitted transactions reach the real pool, as a replica forwards
 * them.
 *
 * @param forward queries the real node
 */
export async function askStale(
  forward: (calls: readonly RpcCall[]) => Promise<Message[]>,
  calls: readonly RpcCall[],
  behind: number,
): Promise<Message[]> {
  const [newest] = await forward([{ id: 0, method: 'eth_blockNumber', params: [] }])
  if (typeof newest?.result !== 'string') throw new Error('the real node does not say where it stands')
  const head = Math.max(0, Number(newest.result) - behind)
  const unseen = calls.filter((call) => OF_BLOCKS.has(call.method) && blockOf(call, head) > head)
  const heights = await heightsOf(forward, calls)
  const height = (call: RpcCall) =>
    heights.get(hashIn(call) ?? '') ?? (call.method in STATE_AT ? blockOf(call, head) : 0)
  const unknown = calls.filter((call) => !unseen.includes(call) && height(call) > head)
  const asked = calls.filter((call) => !unseen.includes(call) && !unknown.includes(call))
  const heard = await forward(asked.map((call) => lower(call, head)))
  return [
    ...heard.map((message) => {
      const method = calls.find(({ id }) => id === message.id)?.method
      if (method === 'eth_blockNumber') return { ...message, result: toQuantity(head) }
      return isAbove(message.result, head) ? { ...message, result: null } : message
    }),
    ...unseen.map(({ id }) => ({ jsonrpc: '2.0', id, result: null })),
    ...unknown.map(({ id }) => ({ jsonrpc: '2.0', id, error: { code: -32_000, message: 'header not found' } })),
  ]
}

/** The block hash in a query of a state (EIP-1898). */
function hashIn({ method, params }: RpcCall): string | undefined {
  const place = STATE_AT[method]
  return place === undefined ? undefined : (params[place] as { readonly blockHash?: string } | null)?.blockHash
}

/**
 * The height of each block that is named by its hash: a node answers such a query for exactly that block, or not at
 * all.
 */
async function heightsOf(
  forward: (calls: readonly RpcCall[]) => Promise<Message[]>,
  calls: readonly RpcCall[],
): Promise<ReadonlyMap<string, number>> {
  const hashes = [...new Set(calls.flatMap((call) => hashIn(call) ?? []))]
  if (hashes.length === 0) return new Map()
  const blocks = await forward(hashes.map((hash, id) => ({ id, method: 'eth_getBlockByHash', params: [hash, false] })))
  return new Map(
    blocks.map(({ id, result }) => {
      const block = result as { readonly number: string } | null | undefined
      return [hashes[Number(id)] ?? '', block ? Number(block.number) : Number.POSITIVE_INFINITY]
    }),
  )
}

function blockOf({ method, params }: RpcCall, head: number): number {
  const tag = params[STATE_AT[method] ?? 0]
  return typeof tag === 'string' && QUANTITY.test(tag) ? Number(tag) : head
}

/** `latest` means the newest block that it knows. */
function lower(call: RpcCall, head: number): RpcCall {
  const place = STATE_AT[call.method]
  if (place === undefined || hashIn(call) !== undefined) return call
  const params = [...call.params]
  params[place] = toQuantity(Math.min(head, blockOf(call, head)))
  return { ...call, params }
}

/** A receipt, or a transaction, of a block that it has not seen. */
function isAbove(result: unknown, head: number): boolean {
  const block = (result as { readonly blockNumber?: string } | null | undefined)?.blockNumber
  return typeof block === 'string' && Number(block) > head
}
