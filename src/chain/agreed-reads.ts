/**
 * Reads of a chain that decide: a quorum of the nodes gives the same answer at the same block. `latest` and `finalized` are
 * replaced by the number of the block that a quorum names, so that nodes which differ by a block agree. With a quorum of one
 * it is the plain reader, and costs what that costs.
 */
import { BursarError } from '../core/errors.ts'
import { agreeing, canonical, type Nodes, type Quorum, type Tag } from './agreement.ts'
import { hashedFields, hasOwnHash } from './block-proof.ts'
import type { BlockRef } from './blocks.ts'
import { toQuantity } from './hex.ts'
import { type RpcReader, type RpcRequest, type RpcResult, unavailable } from './json-rpc.ts'
import { decidedByRank } from './middle-answers.ts'
import { inAgreedWords, whatIsRead } from './what-is-read.ts'

/** How long the block that a quorum named is read at; a request for the newest block itself asks anew. */
const HEAD_MS = 1_000

/** All throw Unavailable where a quorum names no block. */
export type AgreedHead = {
  /** The highest one now: slower nodes are waited for, half a second at most. */
  readonly highest: (tag: Tag) => Promise<BlockRef>
  /** Asked now: the first one that a quorum names, if it is not lower than the last one. */
  readonly now: (tag: Tag) => Promise<BlockRef>
  /** At most a second old. */
  readonly recent: (tag: Tag) => Promise<BlockRef>
}

/** @param now a clock, ms */
export function createAgreedHead({ newest }: Pick<Nodes, 'newest'>, now: () => number): AgreedHead {
  const known = new Map<Tag, { readonly block: BlockRef; readonly at: number }>()
  const asking = new Map<Tag, Promise<BlockRef>>()
  const ask = async (tag: Tag, above: number | undefined): Promise<BlockRef> => {
    const at = now()
    const block = await newest(tag, above)
    known.set(tag, { block, at })
    return block
  }
  const askFirst = (tag: Tag) => ask(tag, (known.get(tag)?.block.number ?? 0) - 1)
  return {
    highest: (tag) => ask(tag, undefined),
    now: askFirst,
    recent(tag) {
      const last = known.get(tag)
      if (last !== undefined && Math.abs(now() - last.at) < HEAD_MS) return Promise.resolve(last.block)
      const open = asking.get(tag) ?? askFirst(tag).finally(() => void asking.delete(tag))
      asking.set(tag, open)
      return open
    },
  }
}

/**
 * A value, because `RpcReader` has several implementations: one node, several of which any may answer, and these that must agree.
 *
 * @param plain the reader of these nodes as if they were one
 */
export function createAgreedReads(
  { nodes, quorum: { needed } }: { readonly nodes: () => readonly RpcReader[]; readonly quorum: Quorum },
  plain: RpcReader,
  head: AgreedHead,
): RpcReader {
  if (needed === 1) return plain
  return {
    async batch(requests) {
      const heads = await readHeads(requests, head)
      const pinned = requests.map((request) => pin(request, heads))
      const asked = pinned.flatMap((one) => ('method' in one ? one : []))
      const heard = new Map<RpcRequest, RpcResult[]>()
      const listening = () => nodes().map((node) => listenTo(node, heard))
      const results = asked.length === 0 ? [] : await agreeing(listening, needed).batch(asked)
      const decided = new Map(
        asked.map((request, i) => [request, decide(request, results[i], { heard: heard.get(request) ?? [], needed })]),
      )
      return pinned.map((one) => ('method' in one ? (decided.get(one) ?? SILENT) : one))
    },
  }
}

const SILENT: RpcResult = { ok: false, error: unavailable('no_quorum', 'the request was not asked') }

type Heads = ReadonlyMap<Tag, BlockRef | RpcResult>

async function readHeads(requests: readonly RpcRequest[], head: AgreedHead): Promise<Heads> {
  const tags = new Set(requests.flatMap((request) => tagOf(request) ?? []))
  const isAsked = (method: string, tag: Tag) => requests.some((one) => one.method === method && tagOf(one) === tag)
  const find = (tag: Tag) => {
    if (isAsked('eth_getBlockByNumber', tag)) return head.highest(tag)
    return isAsked('eth_blockNumber', tag) ? head.now(tag) : head.recent(tag)
  }
  const read = [...tags].map(async (tag) => [tag, await find(tag).catch(asResult)] as const)
  return new Map(await Promise.all(read))
}

/** What stopped the head from being known stops each request at it. */
function asResult(error: unknown): RpcResult {
  if (!(error instanceof BursarError)) throw error
  return { ok: false, error: unavailable('no_quorum', error.message) }
}

function tagOf({ method, params }: RpcRequest): Tag | null {
  if (method === 'eth_blockNumber') return 'latest'
  return params.find(isTag) ?? null
}

function isTag(param: unknown): param is Tag {
  return param === 'latest' || param === 'finalized'
}

/** The request at the number of the agreed block, or its result where that is known. */
function pin(request: RpcRequest, heads: Heads): RpcRequest | RpcResult {
  const tag = tagOf(request)
  if (tag === null) return { ...request }
  const at = heads.get(tag) ?? SILENT
  if ('ok' in at) return at
  const number = toQuantity(at.number)
  if (request.method === 'eth_blockNumber') return { ok: true, value: number }
  return { method: request.method, params: request.params.map((param) => (param === tag ? number : param)) }
}

/** The node, with what it says of each request kept, and cut to what is read of it. */
function listenTo(node: RpcReader, heard: Map<RpcRequest, RpcResult[]>): RpcReader {
  return {
    async batch(requests) {
      const results = await node.batch(requests)
      return requests.map((request, i) => {
        const read = asCompared(whatIsRead(request, results[i] ?? SILENT))
        heard.set(request, [...(heard.get(request) ?? []), read])
        return read
      })
    },
  }
}

/** As votes are counted, so that nothing depends on which node was the first of those that say the same. */
function asCompared(result: RpcResult): RpcResult {
  return result.ok && result.value !== undefined ? { ok: true, value: JSON.parse(canonical(result.value)) } : result
}

type Raw = Readonly<Record<string, unknown>>
type Votes = { readonly heard: readonly RpcResult[]; readonly needed: number }

function decide({ method, params }: RpcRequest, result: RpcResult | undefined, votes: Votes): RpcResult {
  if (result === undefined) return SILENT
  // Of a whole block everything was voted on: that a header hashes proves nothing of the body under it.
  if (result.ok) return /^eth_getBlockBy/.test(method) && params[1] === false ? provenHeader(result, votes) : result
  if (result.error.kind !== 'unavailable' || result.error.reason !== 'no_quorum') return inAgreedWords(result, votes)
  return decidedByRank(method, votes) ?? result
}

/**
 * The agreed header as its hash proves it. Votes are about some of its fields: one of those that agree may have others wrong.
 * Of fields that are not hashed, and where the headers of a network do not hash, those are kept that a quorum shows alike.
 */
function provenHeader(result: RpcResult & { readonly ok: true }, { heard, needed }: Votes): RpcResult {
  const agreed = result.value as Raw | null
  if (agreed === null) return result
  const shown = heard.flatMap((one) =>
    one.ok && (one.value as Raw | null)?.hash === agreed.hash ? [one.value as Raw] : [],
  )
  const proven = shown.find(hasOwnHash)
  const names = [...new Set(shown.flatMap((header) => Object.keys(header)))]
  const fields = names.flatMap((name) => {
    const votes = shown.map((header) => JSON.stringify(header[name]))
    const most = votes.find((vote) => vote !== undefined && votes.filter((other) => other === vote).length >= needed)
    return most === undefined ? [] : [[name, JSON.parse(most)]]
  })
  return { ok: true, value: { ...Object.fromEntries(fields), ...(proven === undefined ? {} : hashedFields(proven)) } }
}
