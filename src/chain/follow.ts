/**
 * Follows a chain block by block. A step returns only what happened since the cursor: a reorg is a regular result, and
 * blocks come only as an unbroken line from the cursor.
 */
import { Unavailable } from '../core/errors.ts'
import { type HowToRead, readAgreedBlocks } from './agreed-blocks.ts'
import type { Nodes } from './agreement.ts'
import { type Block, type BlockHeader, type BlockRef, readHeaders, readTransactionCounts } from './blocks.ts'
import type { RpcReader } from './json-rpc.ts'

/** Upper bound of a step: at about 2 kB per transaction, 10 MB of JSON. */
const MAX_BLOCKS = 100
const MAX_TRANSACTIONS = 5_000

/** Up to this many blocks are read without asking for their sizes first. */
const UNMEASURED_BLOCKS = 4

/** Most reorgs are one or two blocks deep; the search widens as it goes down. */
const FIRST_SEARCH_BLOCKS = 8
const MAX_SEARCH_BLOCKS = 64

export type FollowStep =
  /** Nothing new. */
  | { readonly type: 'idle'; readonly head: BlockRef }
  /** `blocks` follow the cursor without a gap; the last one is the next cursor. */
  | { readonly type: 'advance'; readonly blocks: readonly Block[]; readonly head: BlockRef }
  /**
   * The chain left the cursor's branch. All blocks above `to` are undone, and `to` is the next cursor: the last common
   * block or, with `beyondWindow`, the block from which to read the chain again because no common one is known.
   */
  | {
      readonly type: 'reorg'
      readonly from: BlockRef
      readonly to: BlockRef
      /** Number of undone blocks. */
      readonly depth: number
      readonly beyondWindow: boolean
      /** Block 0 of another chain with the same id, which an operator has accepted. */
      readonly genesis?: string
      readonly head: BlockRef
    }
  /** The node's chain matches ours but is shorter: a stale replica, or a restarted chain. Wait. */
  | { readonly type: 'behind'; readonly head: BlockRef }
  /**
   * The node's blocks do not lead from the cursor to its head. For a moment that is a reorg during the read; if it lasts,
   * the node is wrong, and the chain cannot be followed.
   */
  | { readonly type: 'unlinked'; readonly head: BlockRef; readonly reason: string }
  /** Following would undo what is final, or the whole chain: an operator decides. */
  | { readonly type: 'refused'; readonly head: BlockRef; readonly reason: string; readonly refusal: Refusal }
  /** Too few nodes answer, or say the same. */
  | { readonly type: 'waiting'; readonly reason: string }

/** What an operator can accept: a reorg that undoes the blocks from `from` on. */
export type Refusal = {
  readonly from: number
  /** The final block that it would undo; `null` where none is known. */
  readonly final: BlockRef | null
  /** Block 0 of the nodes, if it is another one. */
  readonly genesis: string | null
}

/**
 * The hashes of the followed blocks, by number, for all kept numbers in `from … to` (both inclusive). Keep the hash of
 * block 0 permanently: it tells another chain from a node that lags.
 */
export type StoredHashes = (
  from: number,
  to: number,
) => ReadonlyMap<number, string> | Promise<ReadonlyMap<number, string>>

/**
 * The maximum number of blocks of the next step. A step that times out is halved until one succeeds: a node that is too
 * slow for a hundred full blocks may answer for one. Kept while a process follows the chain.
 */
export type Pace = { blocks: number }

export function createPace(): Pace {
  return { blocks: MAX_BLOCKS }
}

/** What a chain is followed with, by as many steps as there are. */
export type Following = {
  readonly client: Nodes
  /** Adapted by each step: to a node that lacks a method. */
  readonly how: HowToRead
  readonly storedHashes: StoredHashes
  /** Block 0 of another chain that an operator lets it follow. */
  readonly acceptedGenesis?: () => Promise<string | null>
  readonly maxBlocks?: number
  /** Adapted by each step: to a slow node. */
  readonly pace: Pace
}

/**
 * @param cursor the last followed block
 * @throws Unavailable `rpc_unavailable` when no node answered; `block_inconsistent` when a block does not match its
 *   receipts, which happens briefly during a reorg: nothing was missed, call again
 */
export async function nextStep(following: Following, cursor: BlockRef): Promise<FollowStep> {
  try {
    return await stepFrom(following, cursor)
  } catch (error) {
    if (error instanceof Unavailable && error.code === 'no_quorum') return { type: 'waiting', reason: error.message }
    throw error
  }
}

async function stepFrom(following: Following, cursor: BlockRef): Promise<FollowStep> {
  const { client, how, maxBlocks = MAX_BLOCKS, pace } = following
  const head = await client.newest('latest', cursor.number)
  // Four cases: the head is our block, another block at our height, below us, or above us.
  if (head.number === cursor.number && head.hash === cursor.hash) return { type: 'idle', head }
  if (head.number <= cursor.number) return rewind(following, cursor, head)
  const from = cursor.number + 1
  const most = Math.min(maxBlocks, pace.blocks)
  const to = await fitting(client.agreed, from, Math.min(head.number, cursor.number + most))
  const wanted = { from, to, head, parentHash: cursor.hash }
  const read = await readAgreedBlocks(client, how, wanted).catch((error: unknown) => {
    if (error instanceof Unavailable) pace.blocks = Math.ceil((to - cursor.number) / 2)
    throw error
  })
  pace.blocks = Math.min(MAX_BLOCKS, 2 * pace.blocks)
  const [first] = read.blocks
  if (first === undefined && read.wrong !== null)
    throw new Unavailable('block_inconsistent', `No block ${from}: ${read.wrong}.`)
  if (first === undefined) return lacking(from, head)
  if (first.parentHash !== cursor.hash) return rewind(following, cursor, head)
  return { type: 'advance', blocks: read.blocks, head }
}

/** The last block of a range, counted from its start, whose transactions fit into one step; at least the first. */
async function fitting(client: RpcReader, from: number, to: number): Promise<number> {
  if (to - from < UNMEASURED_BLOCKS) return to
  const counts = await readTransactionCounts(client, from, to)
  let sum = counts[0] ?? 0
  let last = from
  while (last < to) {
    sum += counts[last + 1 - from] ?? MAX_TRANSACTIONS
    if (sum > MAX_TRANSACTIONS) break
    last += 1
  }
  return last
}

/**
 * Searches down from the cursor, or from the head if that is lower, for the last block on which node and store agree.
 */
async function rewind(following: Following, cursor: BlockRef, head: BlockRef): Promise<FollowStep> {
  let to = Math.min(cursor.number, head.number)
  let width = FIRST_SEARCH_BLOCKS
  let lowest: BlockHeader | null = null
  while (to >= 0) {
    const from = Math.max(0, to - width + 1)
    const ours = new Map(await following.storedHashes(from, to))
    if (cursor.number <= to) ours.set(cursor.number, cursor.hash)
    const numbers = descend(from, to).filter((number) => ours.has(number))
    const theirs = new Map(zip(numbers, await readHeaders(following.client.agreed, numbers)))
    for (const number of descend(from, to)) {
      const our = ours.get(number)
      const their = theirs.get(number) ?? null
      if (our === undefined) return beyondWindow(following, cursor, head, lowest)
      if (their === null) return lacking(number, head)
      if (their.hash === our) return agreedAt({ number, hash: our }, cursor, head)
      lowest = their
    }
    to = from - 1
    width = Math.min(2 * width, MAX_SEARCH_BLOCKS)
  }
  return beyondWindow(following, cursor, head, lowest)
}

function agreedAt(common: BlockRef, cursor: BlockRef, head: BlockRef): FollowStep {
  if (common.number === cursor.number) return unlinked(cursor, head)
  if (common.number === head.number) return { type: 'behind', head }
  return reorg(cursor, common, head, false)
}

/** The node has the cursor's block, and another block builds on another one of its height. */
function unlinked(cursor: BlockRef, head: BlockRef): FollowStep {
  const next = cursor.number + 1
  const reason =
    head.number === cursor.number
      ? `the node names two blocks of the height ${cursor.number}: ${head.hash} as the newest, ${cursor.hash} by number`
      : `block ${next} of the node names another parent than its block ${cursor.number} (${cursor.hash})`
  return { type: 'unlinked', head, reason }
}

function lacking(number: number, head: BlockRef): FollowStep {
  return {
    type: 'unlinked',
    head,
    reason: `the node has no block ${number}, although its newest one is ${head.number}`,
  }
}

/**
 * No kept hash is on the nodes' chain. If block 0 differs too, it is another chain, which is followed from its start once an
 * operator accepts it; otherwise it is read again from the lowest kept block.
 */
async function beyondWindow(
  following: Following,
  cursor: BlockRef,
  head: BlockRef,
  lowest: BlockHeader | null,
): Promise<FollowStep> {
  const genesis = (await following.storedHashes(0, 0)).get(0)
  const theirs = await readGenesis(following.client.agreed)
  if (genesis !== undefined && theirs !== null && theirs !== genesis) {
    const accepted = (await following.acceptedGenesis?.()) ?? null
    if (accepted !== theirs) return anotherChain(genesis, theirs, head)
    return { ...reorg(cursor, { number: 0, hash: theirs }, head, true), genesis: theirs }
  }
  // The head is below every kept block, and the chain may be the same: there is nothing to compare.
  if (lowest === null) return { type: 'behind', head }
  if (lowest.number === 0) return reorg(cursor, { number: 0, hash: theirs ?? lowest.hash }, head, true)
  return reorg(cursor, { number: lowest.number - 1, hash: lowest.parentHash }, head, true)
}

function anotherChain(ours: string, theirs: string, head: BlockRef): FollowStep {
  const reason =
    `the nodes show another chain with the same id: its block 0 is ${theirs}, that of the followed chain is ${ours}. Nothing is undone. ` +
    'If the chain was started again on purpose, run npm run bursar -- accept-reorg'
  return { type: 'refused', head, reason, refusal: { from: 0, final: null, genesis: theirs } }
}

/**
 * The hash of block 0, taken from the parent hash of block 1 if there is one: a local node restarted from saved state
 * reports a different block 0 that its blocks do not build on.
 */
async function readGenesis(client: RpcReader): Promise<string | null> {
  const [zero, one] = await readHeaders(client, [0, 1])
  return one?.parentHash ?? zero?.hash ?? null
}

function reorg(
  from: BlockRef,
  to: BlockRef,
  head: BlockRef,
  isBeyondWindow: boolean,
): Extract<FollowStep, { readonly type: 'reorg' }> {
  return { type: 'reorg', from, to, depth: from.number - to.number, beyondWindow: isBeyondWindow, head }
}

function descend(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => to - i)
}

function zip<A, B>(as: readonly A[], bs: readonly B[]): [A, B][] {
  return as.flatMap((a, i) => {
    const b = bs[i]
    return b === undefined ? [] : [[a, b] as [A, B]]
  })
}
