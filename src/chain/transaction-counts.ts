/** How many transactions of an account are in blocks: what a quorum of the nodes says alike, and what each says by itself. */
import { Unavailable } from '../core/errors.ts'
import type { NodeReader, Nodes, Quorum } from './agreement.ts'
import { askedTogether } from './asked-together.ts'
import type { BlockRef } from './blocks.ts'
import { malformed, readCount, toQuantity } from './hex.ts'
import { type RpcRequest, type RpcResult, resultValue, rpcCall } from './json-rpc.ts'

const METHOD = 'eth_getTransactionCount'

/** No account of a chain has sent a thousandth of this. A higher number is no answer. */
const MOST = 2 ** 40

/** How long nodes that are slower than a quorum are waited for. Those that know more count more at the first look. */
const GRACE_MS = { first: 2_000, later: 100 }

/** The counts in a block that a quorum names, in the order of the addresses. @throws Unavailable, ChainRefused */
export async function agreedCounts(
  { agreed }: Pick<Nodes, 'agreed'>,
  addresses: readonly string[],
  block: number,
): Promise<number[]> {
  const at = toQuantity(block)
  const answers = await agreed.batch(addresses.map((address) => ({ method: METHOD, params: [address, at] })))
  return addresses.map((_, index) => readTransactionCount(resultValue(answers[index], METHOD)))
}

/** The count in the newest block that a quorum reaches. @throws Unavailable, ChainRefused */
export async function newestCount({ agreed, newest, quorum }: Nodes, address: string): Promise<number> {
  const at = quorum.needed === 1 ? 'latest' : { blockHash: (await newest('latest')).hash }
  return readTransactionCount(await rpcCall(agreed, METHOD, [address, at]))
}

/** What one node says. */
export type ShownCount = { readonly host: string; readonly count: number }

export type CountsNow = {
  /** At the block that was asked for; `null` when no quorum says the same of it. */
  readonly agreed: number | null
  /** In the newest block of each node that answers. */
  readonly latest: readonly ShownCount[]
  /** The same with what waits in its pool, where that was asked for. */
  readonly shown: readonly ShownCount[]
  readonly quorum: Quorum
}

type Asked = {
  readonly address: string
  /** Asked by its hash: at the same number, nodes may be on another branch. `null`: the newest that a quorum reaches. */
  readonly block: BlockRef | null
  /** Whether pools are asked too, and slow nodes are waited for. */
  readonly isFirst: boolean
}

/** The lanes of a round ask each node in one exchange. */
const TOGETHER = new WeakMap<NodeReader, NodeReader['batch']>()

function together(node: NodeReader): NodeReader['batch'] {
  const known = TOGETHER.get(node)
  if (known !== undefined) return known
  const batch = askedTogether((requests) => node.batch(requests))
  TOGETHER.set(node, batch)
  return batch
}

type Heard = { readonly host: string; readonly at: number | null; readonly latest: number; readonly shown: number }

/**
 * Asks every node, and does not wait long for those that are slower than a quorum.
 *
 * @throws Unavailable when no node answers
 */
export async function countsNow(
  { nodes, quorum }: Pick<Nodes, 'nodes' | 'quorum'>,
  { address, block, isFirst }: Asked,
): Promise<CountsNow> {
  const heard: Heard[] = []
  const silent: (RpcResult | undefined)[] = []
  const tags = [...(block === null ? [] : [{ blockHash: block.hash }]), 'latest', ...(isFirst ? ['pending'] : [])]
  const requests = tags.map((at) => ({ method: METHOD, params: [address, at] }))
  const agreed = () => (block === null ? reached(heard, quorum) : votedFor(heard, quorum))
  const asking = nodes().map(async (node) => {
    const said = await askOne(node, requests, block === null ? 0 : 1)
    if ('host' in said) heard.push(said)
    else silent.push(said.failure)
  })
  await enough(asking, () => agreed() !== null, GRACE_MS[isFirst ? 'first' : 'later'])
  if (heard.length === 0) readTransactionCount(resultValue(silent[0], METHOD))
  return {
    agreed: agreed(),
    latest: heard.map(({ host, latest: count }) => ({ host, count })),
    shown: heard.map(({ host, shown: count }) => ({ host, count })),
    quorum,
  }
}

async function askOne(
  node: NodeReader,
  requests: readonly RpcRequest[],
  first: 0 | 1,
): Promise<Heard | { readonly failure: RpcResult | undefined }> {
  const results = await together(node)(requests)
  const latest = countIn(results[first])
  if (latest === null) return { failure: results[first] }
  // A node that does not answer for this block, or for its pool, shows nothing there.
  const at = first === 0 ? null : countIn(results[0])
  return { host: node.host, at, latest, shown: Math.max(latest, countIn(results[first + 1]) ?? 0) }
}

function countIn(result: RpcResult | undefined): number | null {
  if (result?.ok !== true) return null
  try {
    return readTransactionCount(result.value)
  } catch (error) {
    if (error instanceof Unavailable) return null
    throw error
  }
}

function votedFor(heard: readonly Heard[], { needed }: Quorum): number | null {
  const votes = new Map<number, number>()
  for (const { at } of heard) if (at !== null) votes.set(at, (votes.get(at) ?? 0) + 1)
  return [...votes].find(([, count]) => count >= needed)?.[0] ?? null
}

/** The highest count that a quorum reaches. */
function reached(heard: readonly Heard[], { needed }: Quorum): number | null {
  return heard.map(({ latest }) => latest).sort((a, b) => b - a)[needed - 1] ?? null
}

/** Until all have ended, or this long after there are enough. */
function enough(asking: readonly Promise<void>[], isEnough: () => boolean, graceMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    const look = () => {
      if (timer === undefined && isEnough()) timer = setTimeout(resolve, graceMs)
    }
    for (const one of asking) one.then(look, reject)
    void Promise.allSettled(asking).then(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

function readTransactionCount(value: unknown): number {
  const count = readCount(value, 'a transaction count')
  if (count > MOST) throw malformed('a transaction count is higher than any')
  return count
}
