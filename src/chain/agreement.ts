/**
 * What a quorum of nodes says alike, where no single one may decide. A host has one vote, however many of its URLs are
 * configured, and the quorum is of those that are configured, never of those that answer: a minority can delay, nothing else.
 */
import { Unavailable } from '../core/errors.ts'
import { type BlockHeader, type BlockRef, readHead, readHeaders } from './blocks.ts'
import { type RpcReader, type RpcResult, unavailable } from './json-rpc.ts'

export type Quorum = {
  /** How many nodes must say the same. */
  readonly needed: number
  /** How many are configured. */
  readonly nodes: number
}

/** The nodes of a chain, where no single one is believed. */
export type Nodes = {
  /** Answers that a quorum gives alike; with a quorum of one, those of the first node that answers. */
  readonly agreed: RpcReader
  /**
   * The highest block that a quorum reaches and names alike.
   *
   * @param above with a block higher than this, slower nodes are not waited for
   * @throws Unavailable `no_quorum`, `rpc_unavailable`
   */
  readonly newest: (tag: Tag, above?: number) => Promise<BlockRef>
  /** One for each host, the preferred one first: what it says is a hint, or is proven under an agreed hash. */
  readonly nodes: () => readonly NodeReader[]
  readonly quorum: Quorum
}

export type NodeReader = RpcReader & {
  /** Its name for logs and operators. */
  readonly host: string
  /** What it shows is wrong, and another one shows what is right: for some minutes the others are asked before it. */
  readonly doubt: () => void
}

/** More than half. */
export function majorityOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1
}

/** After this a node that is silent is not waited for: another one is asked as well. */
const HEDGE_MS = 1_000

/** How long a node that may know a newer block is waited for, once a quorum has named one. */
const GRACE_MS = 500

/** A fork at the tip is one or two blocks deep; a deeper one lasts, and an operator has to look at the nodes. */
const SEARCH_BLOCKS = 64
const HEADERS_AT_ONCE = 8

/**
 * Answers that a quorum gives alike. First as many nodes are asked as are needed, the others only about what is open.
 * What has no quorum is unavailable: `no_quorum`.
 *
 * @param nodes one reader for each host, in order of preference
 */
export function agreeing(nodes: () => readonly RpcReader[], needed: number): RpcReader {
  return {
    async batch(requests) {
      const ballots = requests.map(({ method, params }) => createBallot(method, params, needed))
      const asked = nodes()
      const open = () => ballots.flatMap((ballot, i) => (ballot.result() === null ? [i] : []))
      const waiting = new Set<Promise<void>>()
      let next = 0
      const askNext = (): void => {
        const node = asked[next++]
        const places = open()
        if (node === undefined || places.length === 0) return
        const heard = node
          .batch(places.flatMap((i) => requests[i] ?? []))
          .then((results) => {
            for (const [at, i] of places.entries()) ballots[i]?.cast(results[at])
          })
          .catch(asNoVote)
          .finally(() => void waiting.delete(heard))
        waiting.add(heard)
      }
      for (let i = 0; i < needed; i++) askNext()
      while (waiting.size > 0 && open().length > 0) {
        const isSlow = await raced(waiting, HEDGE_MS)
        const missing = Math.max(0, ...ballots.map((ballot) => ballot.missing()))
        if (isSlow) askNext()
        while (waiting.size < missing && next < asked.length) askNext()
      }
      return ballots.map((ballot) => ballot.result() ?? ballot.undecided(asked.length))
    },
  }
}

/** An answer that is nested deeper than the stack cannot be compared: it is the loss of who gave it. */
function asNoVote(error: unknown): void {
  if (!(error instanceof RangeError)) throw error
}

type Ballot = {
  readonly cast: (result: RpcResult | undefined) => void
  /** `null` until a quorum agrees. */
  readonly result: () => RpcResult | null
  /** How many more votes the leading answer needs. */
  readonly missing: () => number
  readonly undecided: (nodes: number) => RpcResult
}

function createBallot(method: string, params: readonly unknown[], needed: number): Ballot {
  const votes = new Map<string, { readonly result: RpcResult; count: number }>()
  let silence: RpcResult | null = null
  let answered = 0
  const most = (): number => Math.max(0, ...[...votes.values()].map(({ count }) => count))
  return {
    cast(result) {
      const key = result === undefined ? null : voteOf(method, params, result)
      if (result === undefined || key === null) {
        silence ??= result ?? null
        return
      }
      answered += 1
      const vote = votes.get(key) ?? { result, count: 0 }
      vote.count += 1
      votes.set(key, vote)
    },
    result: () => [...votes.values()].find(({ count }) => count >= needed)?.result ?? null,
    missing: () => Math.max(0, needed - most()),
    undecided(nodes) {
      if (answered === 0 && silence !== null) return silence
      return { ok: false, error: unavailable('no_quorum', withoutQuorum({ needed, nodes }, answered)) }
    },
  }
}

/** Why nothing is decided, for logs and operators. */
export function withoutQuorum({ needed, nodes }: Quorum, answered: number): string {
  const verb = answered === 1 ? 'answers' : 'answer'
  if (answered < needed) return `${answered} of ${nodes} nodes ${verb}, and ${needed} are needed`
  return `${needed} of ${nodes} nodes are needed that say the same, and those that answer do not`
}

/** What counts as the same answer; `null` for none. The hash of a block stands for its header. */
function voteOf(method: string, params: readonly unknown[], result: RpcResult): string | null {
  if (!result.ok) return result.error.kind === 'answer' ? `refused ${canonical(result.error.data)}` : null
  const isHeader = /^eth_getBlockBy/.test(method) && params[1] === false
  const { value } = result
  if (!isHeader || typeof value !== 'object' || value === null) return canonical(value)
  return canonical(HEADER_VOTE.map((field) => (value as Readonly<Record<string, unknown>>)[field]))
}

const HEADER_VOTE = ['number', 'hash', 'parentHash', 'timestamp', 'baseFeePerGas', 'stateRoot']

/**
 * JSON with keys in order and hex in lower case: the programs of nodes write the same facts in different ways. Names are as
 * they are: what has other names is read as if it were not there.
 *
 * @throws RangeError when it is nested deeper than the stack
 */
export function canonical(value: unknown): string {
  const text = JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part === 'string') return HEX.test(part) ? part.toLowerCase() : part
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
  return text ?? 'undefined'
}

const HEX = /^0x[0-9a-f]*$/i

/** @returns true when nothing came in this time */
async function raced(waiting: ReadonlySet<Promise<void>>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(true), ms)
  })
  try {
    return await Promise.race([...[...waiting].map((one) => one.then(() => false)), late])
  } finally {
    clearTimeout(timer)
  }
}

/** A block that names the head of a chain. */
export type Tag = 'latest' | 'finalized'

type Heard = { readonly node: RpcReader; readonly head: BlockHeader; readonly hashes: Map<number, string> }

/**
 * The highest block that a quorum reaches and names alike. A head that the others do not reach is none; where the nodes are
 * on different forks, it is the highest one that they have in common.
 *
 * @param nodes one reader for each host
 * @param above with a block higher than this, the rest of the nodes is not waited for
 * @throws Unavailable `no_quorum`; `rpc_unavailable` when no node answers
 */
export async function agreedBlock(
  nodes: readonly RpcReader[],
  needed: number,
  { tag, above }: { readonly tag: Tag; readonly above: number },
): Promise<BlockRef> {
  const heard: Heard[] = []
  const failures: unknown[] = []
  const waiting = new Set<Promise<void>>()
  for (const node of nodes) {
    const one: Promise<void> = askHead(node, tag)
      .then((said) => void heard.push(said))
      .catch((error: unknown) => void failures.push(error))
      .finally(() => void waiting.delete(one))
    waiting.add(one)
  }
  let found: BlockRef | null = null
  while (waiting.size > 0) {
    const isLate = await raced(waiting, found === null ? HEDGE_MS : GRACE_MS)
    if (heard.length >= needed) found = (await highestCommon(heard, needed)) ?? found
    if (found !== null && (found.number > above || (isLate && isNear(found, heard)))) return found
  }
  if (found !== null) return found
  if (heard.length === 0) throw failures[0]
  const quorum = { needed, nodes: nodes.length }
  throw new Unavailable('no_quorum', `The newest block is not known: ${withoutQuorum(quorum, heard.length)}.`)
}

/** Whether it is not far below what a node names: otherwise one that names a low head would need only another slow one. */
function isNear({ number }: BlockRef, heard: readonly Heard[]): boolean {
  return Math.max(...heard.map(({ head }) => head.number)) - number <= SEARCH_BLOCKS
}

async function askHead(node: RpcReader, tag: Tag): Promise<Heard> {
  const head = await readHead(node, tag)
  const hashes = new Map([[head.number, head.hash]])
  if (head.number > 0) hashes.set(head.number - 1, head.parentHash)
  return { node, head, hashes }
}

/** Searches downwards from the height that a quorum reaches. Headers that are read on the way are kept in `heard`. */
async function highestCommon(heard: readonly Heard[], needed: number): Promise<BlockRef | null> {
  const heads = heard.map(({ head }) => head.number).sort((a, b) => b - a)
  const top = heads[needed - 1]
  if (top === undefined) return null
  for (let high = top, width = 1; high >= 0 && high > top - SEARCH_BLOCKS; high -= width, width = HEADERS_AT_ONCE) {
    const numbers = Array.from({ length: Math.min(width, high + 1) }, (_, i) => high - i)
    await readEnough(heard, numbers, needed)
    for (const number of numbers) {
      const hash = agreedHash(heard, number, needed)
      if (hash !== null) return { number, hash }
    }
  }
  return null
}

/** Who keeps headers back is waited for no longer than who keeps its head back. */
async function readEnough(heard: readonly Heard[], numbers: readonly number[], needed: number): Promise<void> {
  const isKnown = (some: readonly number[]) => some.some((number) => agreedHash(heard, number, needed) !== null)
  if (isKnown(numbers.slice(0, 1))) return
  const waiting = new Set<Promise<void>>()
  for (const one of heard) {
    const reading: Promise<void> = readMissing(one, numbers).finally(() => void waiting.delete(reading))
    waiting.add(reading)
  }
  while (waiting.size > 0 && !isKnown(numbers.slice(0, 1)))
    if (await raced(waiting, isKnown(numbers) ? GRACE_MS : HEDGE_MS)) return
}

async function readMissing({ node, head, hashes }: Heard, numbers: readonly number[]): Promise<void> {
  const missing = numbers.filter((number) => number <= head.number && !hashes.has(number))
  if (missing.length === 0) return
  const headers = await readHeaders(node, missing).catch(() => [])
  for (const header of headers) if (header !== null) hashes.set(header.number, header.hash)
}

function agreedHash(heard: readonly Heard[], number: number, needed: number): string | null {
  const votes = new Map<string, number>()
  for (const { hashes } of heard) {
    const hash = hashes.get(number)
    if (hash !== undefined) votes.set(hash, (votes.get(hash) ?? 0) + 1)
  }
  return [...votes].find(([, count]) => count >= needed)?.[0] ?? null
}
