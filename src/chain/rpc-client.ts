/**
 * A chain through several RPC URLs. As if they were one, a request that one URL cannot answer goes to the next: that is a hint
 * of one node. What moves money is `agreed` by a quorum, or proven under a block that is. Sending the same signed bytes to
 * several nodes is harmless, so all of them get them.
 */

import { gathering } from '../core/gathering.ts'
import { type AgreedHead, createAgreedHead, createAgreedReads } from './agreed-reads.ts'
import { agreedBlock, majorityOf, type NodeReader, type Nodes, type Quorum, type Tag } from './agreement.ts'
import { PATIENCE_MS } from './asked-together.ts'
import { withBlockHashes } from './block-hash-params.ts'
import { readHead } from './blocks.ts'
import { type RpcReader, type RpcRequest, type RpcResult, rpcCall, unavailable } from './json-rpc.ts'
import { createEndpoint, type Endpoint, type EndpointHealth, type RpcLog, type RpcObservation } from './rpc-endpoint.ts'
import { classifySubmission, isWorthAnotherNode, type Submission } from './rpc-errors.ts'
import type { RpcBatchLimits } from './settings.ts'
import { firstToAccept } from './several-nodes.ts'
import { newestCount } from './transaction-counts.ts'

/**
 * The lowest default limit of common nodes (erigon, nethermind; anvil is no faster with more), and half of the lowest
 * limit of common providers: a server that finds a body too large may close the connection without an error.
 */
const BATCH_LIMITS: RpcBatchLimits = { maxCalls: 100, maxBytes: 500_000 }

/** Concurrent batches of one read: enough to hide the round trip, few enough not to starve other callers. */
const PARALLEL_BATCHES = 4

/** How often the heads of several URLs are compared. */
const PROBE_INTERVAL_MS = 5_000

/** Replicas of one provider differ by a block or two; a larger lag means that the node has fallen behind. */
const MAX_HEAD_LAG_BLOCKS = 5

export type RpcClientOptions = {
  /** In order of preference. */
  readonly urls: readonly string[]
  /** How many hosts must say the same; by default more than half. */
  readonly quorum?: number
  /** The agreed block to read at, where another client of the same nodes asks for it. */
  readonly head?: AgreedHead
  readonly chainId: number
  /** For one HTTP exchange with one URL. */
  readonly timeoutMs: number
  /** A clock, ms. */
  readonly now: () => number
  readonly log: RpcLog
  readonly batch?: RpcBatchLimits
  /** Bytes of one response: a larger one is aborted, and its batch is split in half. */
  readonly maxResponseBytes?: number
  /** False: a timeout does not count against the server. For reads of third-party contracts. Default true. */
  readonly blamesTimeouts?: boolean
  /** True: it may know no method but `eth_sendRawTransaction`. Default false. */
  readonly onlySends?: boolean
  readonly onExchange?: (observation: RpcObservation) => void
}

export type RpcClient = RpcReader &
  Nodes & {
    readonly head: AgreedHead
    /** One request. @throws Unavailable `rpc_unavailable`; ChainRefused `rpc_error` when a node answered with an error */
    readonly call: (method: string, params?: readonly unknown[]) => Promise<unknown>
    /**
     * Submits signed transactions to every host, to each in order, and returns the outcome of each. Never throws.
     *
     * @param rawTransactions RLP as `0x` hex; consecutive nonces of a sender in ascending order
     */
    readonly sendRawTransactions: (rawTransactions: readonly string[]) => Promise<readonly Submission[]>
    /** How many transactions of the account are in blocks, in the newest one that a quorum reaches. @throws Unavailable */
    readonly transactionCount: (address: string) => Promise<number>
    readonly health: () => readonly EndpointHealth[]
    /** Closes the connections. Pending requests end as unavailable. */
    readonly close: () => void
  }

type Plan = { readonly kind: 'read' | 'send'; readonly requests: readonly RpcRequest[] }

export function createRpcClient(options: RpcClientOptions): RpcClient {
  const { batch = BATCH_LIMITS } = options
  const endpoints = options.urls.map((url, index) =>
    createEndpoint({
      url,
      index,
      chainId: options.chainId,
      timeoutMs: options.timeoutMs,
      maxBatchSize: batch.maxCalls,
      maxResponseBytes: options.maxResponseBytes,
      blamesTimeouts: options.blamesTimeouts ?? true,
      onlySends: options.onlySends ?? false,
      now: options.now,
      log: options.log,
      onExchange: options.onExchange ?? (() => undefined),
    }),
  )
  const hosts = groupByHost(endpoints)
  const quorum = { needed: options.quorum ?? majorityOf(hosts.length), nodes: hosts.length }
  const compareHeads = createHeadComparison(endpoints, quorum, options.now)
  const run = (plan: Plan): Promise<readonly RpcResult[]> => {
    if (options.onlySends !== true) compareHeads()
    return ask(inOrder(endpoints), plan, batch.maxBytes)
  }
  const reader = withBlockHashes({ batch: (requests) => run({ kind: 'read', requests }) }, options.now)
  /**
   * The lanes of a round are sent to a host together, each in the order of its nonces, if one exchange has room for them. A
   * lane with more is sent beside the others: they do not wait for it.
   */
  const senders = hosts.map((own) =>
    gathering(
      async (rawTransactions: readonly string[]) => {
        const requests = rawTransactions.map(toSubmission)
        return (await ask(inOrder(own), { kind: 'send', requests }, batch.maxBytes)).map(classifySubmission)
      },
      {
        most: batch.maxBytes,
        // The signature names it. A node has, or takes, the same bytes also a second time.
        patience: {
          ms: PATIENCE_MS,
          nameOf: (raw) => raw.slice(-64),
          isAnswer: ({ outcome }) => outcome !== 'unavailable',
        },
        sizeOf: (raw) => Math.max(batch.maxBytes / batch.maxCalls, sizeOf(toSubmission(raw).params) + REQUEST_BYTES),
      },
    ),
  )
  const readers = hosts.map((own) => {
    const batchOf: RpcReader['batch'] = (requests) => ask(inOrder(own), { kind: 'read', requests }, batch.maxBytes)
    const host = own[0]?.health().host ?? ''
    const doubt = () => own.forEach((endpoint) => void endpoint.doubt())
    return { own, reader: { ...withBlockHashes({ batch: batchOf }, options.now), host, doubt } }
  })
  const nodes = (): readonly NodeReader[] => {
    compareHeads()
    const first = inOrder(endpoints)
    const rank = (own: readonly Endpoint[]): number => Math.min(...own.map((endpoint) => first.indexOf(endpoint)))
    return [...readers].sort((a, b) => rank(a.own) - rank(b.own)).map(({ reader: one }) => one)
  }
  const alone = {
    async newest(tag: Tag, above = Number.POSITIVE_INFINITY) {
      if (quorum.needed > 1) return agreedBlock(nodes(), quorum.needed, { tag, above })
      const { number, hash } = await readHead(reader, tag)
      return { number, hash }
    },
    nodes,
    quorum,
  }
  const head = options.head ?? createAgreedHead(alone, options.now)
  const several = { ...alone, head, agreed: createAgreedReads(alone, reader, head) }
  return {
    batch: reader.batch,
    ...several,
    call: (method, params) => rpcCall(reader, method, params),
    sendRawTransactions: (rawTransactions) => firstToAccept(senders.map((send) => send(rawTransactions))),
    transactionCount: (address) => newestCount(several, address),
    health: () => endpoints.map((endpoint) => endpoint.health()),
    close: () => {
      for (const endpoint of endpoints) endpoint.close()
    },
  }
}

function toSubmission(raw: string): RpcRequest {
  return { method: 'eth_sendRawTransaction', params: [raw] }
}

function groupByHost(endpoints: readonly Endpoint[]): readonly (readonly Endpoint[])[] {
  const groups = new Map<string, Endpoint[]>()
  for (const endpoint of endpoints) {
    const { host } = endpoint.health()
    groups.set(host, [...(groups.get(host) ?? []), endpoint])
  }
  return [...groups.values()]
}

/** Asks one URL after the other for what is still open. */
async function ask(endpoints: readonly Endpoint[], plan: Plan, maxBytes: number): Promise<readonly RpcResult[]> {
  const nobody: RpcResult = { ok: false, error: unavailable('no_endpoint', 'no RPC URL is available now') }
  const results = plan.requests.map(() => nobody)
  let open = plan.requests.map((_request, i) => i)
  for (const endpoint of endpoints) {
    if (open.length === 0) break
    if (!(await endpoint.isUsable())) continue
    await askOne(endpoint, plan, { open, maxBytes }, results)
    open = open.filter((i) => isOpen(results[i] ?? nobody, plan.requests[i]?.method ?? ''))
  }
  return results
}

function isOpen(result: RpcResult, method: string): boolean {
  return !result.ok && isWorthAnotherNode(result.error, method)
}

/** Healthy URLs first, doubted ones last of them, up-to-date ones before lagging ones, otherwise in configured order. */
function inOrder(endpoints: readonly Endpoint[]): Endpoint[] {
  const rank = (endpoint: Endpoint): number =>
    (endpoint.failures() > 0 ? 4 : 0) + (endpoint.isDoubted() ? 2 : 0) + (endpoint.isLagging() ? 1 : 0)
  return [...endpoints].sort((a, b) => rank(a) - rank(b) || a.index - b.index)
}

/** Fills `results` at the indexes of `open`. Batches of submissions go sequentially, to keep the order of nonces. */
async function askOne(
  endpoint: Endpoint,
  plan: Plan,
  { open, maxBytes }: { readonly open: readonly number[]; readonly maxBytes: number },
  results: RpcResult[],
): Promise<void> {
  let next = 0
  let broken = false
  const work = async (): Promise<void> => {
    while (next < open.length && !broken) {
      const places = fitting(plan, open.slice(next, next + endpoint.batchLimit()), maxBytes)
      next += places.length
      const requests = places.flatMap((place) => plan.requests[place] ?? [])
      const answers = await endpoint.exchange(requests)
      for (const [i, place] of places.entries()) keep(results, place, answers[i])
      broken ||= answers.every((answer) => !answer.ok && answer.error.kind === 'unavailable')
    }
  }
  await Promise.all(Array.from({ length: plan.kind === 'send' ? 1 : PARALLEL_BATCHES }, work))
}

/** The first indexes whose requests fit into one body; at least one. */
function fitting(plan: Plan, places: readonly number[], maxBytes: number): readonly number[] {
  let bytes = 0
  const end = places.findIndex((place, i) => {
    bytes += sizeOf(plan.requests[place]?.params) + REQUEST_BYTES
    return bytes > maxBytes && i > 0
  })
  return end === -1 ? places : places.slice(0, end)
}

/** JSON-RPC overhead per request, in bytes. */
const REQUEST_BYTES = 100

/** Estimates the JSON size of a parameter in bytes without serializing it. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 8
  return Object.entries(value).reduce((sum, [key, part]) => sum + key.length + 4 + sizeOf(part), 2)
}

/** An error from a node is more informative than a missing answer from the next one. */
function keep(results: RpcResult[], place: number, answer: RpcResult | undefined): void {
  const before = results[place]
  if (answer === undefined) return
  const silence = !answer.ok && answer.error.kind === 'unavailable'
  if (silence && before !== undefined && !before.ok && before.error.kind === 'answer') return
  results[place] = answer
}

/**
 * Compares the heads of all URLs with the one that a quorum reaches, at most once per interval and in parallel to the
 * request that triggers it. Does nothing with a single URL.
 */
function createHeadComparison(
  endpoints: readonly Endpoint[],
  { needed, nodes }: Quorum,
  now: () => number,
): () => void {
  let comparedAt = Number.NEGATIVE_INFINITY
  const compare = async (): Promise<void> => {
    const heads = await Promise.all(
      endpoints.map(async (endpoint) => ((await endpoint.isUsable()) ? endpoint.probe() : null)),
    )
    // A head that the others do not reach is none: with a quorum of one, the highest.
    const known = heads.flatMap((head) => head ?? []).sort((a, b) => b - a)
    const best = known[Math.min(nodes, needed) - 1] ?? 0
    for (const [i, endpoint] of endpoints.entries()) {
      const head = heads[i] ?? null
      if (head !== null) endpoint.setLagging(best - head > MAX_HEAD_LAG_BLOCKS)
    }
  }
  return () => {
    if (endpoints.length < 2 || now() - comparedAt < PROBE_INTERVAL_MS) return
    comparedAt = now()
    void compare()
  }
}
