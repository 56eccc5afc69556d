/**
 * The native currency that code moved in a block, from what a node traces. Strict: a trace that does not fit the proven
 * transactions of the block, or that cannot be read, is refused as a whole. What is read of it is still the word of a node: no
 * root in a header has it. Pure.
 */
import type { Block, BlockTransaction } from './blocks.ts'
import { readLower, readQuantity } from './hex.ts'
import { NOBODY } from './transaction-bytes.ts'

/** Addresses in lower case, different from each other. */
export type TracedMove = {
  /** Of the transaction. */
  readonly hash: string
  readonly from: string
  readonly to: string
  /** Wei, above zero. */
  readonly amount: bigint
}

/**
 * How a node traces: `trace_block` of OpenEthereum, or `debug_traceBlockByNumber` with `callTracer` of geth. In the order of
 * preference: providers ask less for the first one.
 */
export const TRACE_METHODS = ['trace_block', 'debug_traceBlockByNumber'] as const
export type TraceMethod = (typeof TRACE_METHODS)[number]

/** A call in a transaction, in the form that both methods are read into. */
export type Frame = {
  /** 0 for the transaction itself. */
  readonly depth: number
  readonly kind: 'moves' | 'creates' | 'destroys' | 'moves_nothing'
  readonly from: string
  /** `null` for a contract that was not created. */
  readonly to: string | null
  /** Wei. */
  readonly value: bigint
  readonly hasFailed: boolean
}

/** Of one transaction, each frame before those that it calls; by the hash that the node names, or `null`. */
export type TracedTransaction = { readonly hash: string | null; readonly frames: Iterable<Frame> }

/** Calls are at most 1,024 deep (Yellow Paper 9.4.2), in a transaction. */
export const MAX_DEPTH = 1_025
/** A call costs 100 gas at least: a block of 100 M gas has no more. */
const MAX_FRAMES = 1_000_000

/**
 * The movements of a block, in its order, without the values of its transactions: those are proven. The value of a transaction that
 * creates a contract is among them, because the address of the contract is in no proof.
 *
 * @throws Error when it is no trace of this block
 */
export function movesIn(block: Block, traced: readonly TracedTransaction[]): TracedMove[] {
  const count = { frames: 0 }
  return matched(block, traced).flatMap(({ transaction, frames }) => movesOf(transaction, frames, count))
}

/** By their hashes where the node names them. What the consensus brings over to polygon is no transaction to some nodes. */
function matched({ transactions }: Block, traced: readonly TracedTransaction[]) {
  const byHash = new Map(traced.flatMap((one) => (one.hash === null ? [] : [[one.hash, one] as const])))
  const isNamed = byHash.size > 0
  if ((isNamed ? byHash.size : transactions.length) !== traced.length)
    throw new Error('a trace of another number of transactions')
  const own = transactions.flatMap((transaction, i) => {
    const one = isNamed ? byHash.get(transaction.hash) : traced[i]
    if (one !== undefined) return [{ transaction, frames: one.frames }]
    if (transaction.from === NOBODY) return []
    throw new Error(`no trace of transaction ${transaction.hash}`)
  })
  if (own.length !== traced.length) throw new Error('a trace of transactions that the block does not have')
  return own
}

function movesOf(transaction: BlockTransaction, frames: Iterable<Frame>, count: { frames: number }): TracedMove[] {
  const { hash } = transaction
  const moves: TracedMove[] = []
  let failedAt = Number.POSITIVE_INFINITY
  let isFirst = true
  for (const frame of frames) {
    count.frames += 1
    if (count.frames > MAX_FRAMES || frame.depth > MAX_DEPTH) throw new Error('a trace with more than a block can hold')
    if (isFirst) checkFirst(transaction, frame)
    else if (frame.depth === 0) throw new Error(`two traces of transaction ${hash}`)
    // What a failed call called is reverted with it.
    if (frame.depth <= failedAt) failedAt = frame.hasFailed ? frame.depth : Number.POSITIVE_INFINITY
    const isProven = isFirst && frame.kind === 'moves'
    isFirst = false
    const { kind, from, to, value: amount } = frame
    const isMove = kind !== 'moves_nothing' && to !== null && to !== from && amount > 0n
    if (isMove && !isProven && failedAt === Number.POSITIVE_INFINITY) moves.push({ hash, from, to, amount })
  }
  if (isFirst) throw new Error(`an empty trace of transaction ${hash}`)
  return moves
}

/** The receipt says whether it succeeded, the transaction what it is. */
function checkFirst({ hash, from, to, value, status }: BlockTransaction, frame: Frame): void {
  const kind = to === null ? 'creates' : 'moves'
  const isSame =
    frame.depth === 0 && frame.kind === kind && frame.from === from && frame.value === value && isTo(to, frame)
  if (!isSame || frame.hasFailed !== (status === 'reverted'))
    throw new Error(`the trace of transaction ${hash} is of another one`)
}

function isTo(to: string | null, frame: Frame): boolean {
  return to === null || frame.to === to
}

const ADDRESS = /^0x[0-9a-f]{40}$/

/** @throws Error */
export function readAddress(value: unknown, what: string): string {
  const address = readLower(value, what)
  if (!ADDRESS.test(address)) throw new Error(`${what} is no address`)
  return address
}

/** Wei; a missing one is 0, as for calls that move nothing. @throws Error */
export function readWei(value: unknown): bigint {
  return value == null ? 0n : readQuantity(value, 'the value of a call')
}
