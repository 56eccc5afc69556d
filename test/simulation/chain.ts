/**
 * A chain with a pool, in memory: it mines, takes other branches, forgets what waits, and may mine any bytes that were ever
 * sent to it, whether or not their sender has replaced them since.
 */
import type { Random } from '../support/load-random.ts'

/** What the simulated signer makes of a transaction: its bytes are these fields. */
export type Wire = {
  readonly hash: string
  readonly from: string
  readonly to: string
  readonly nonce: number
  readonly value: string
  readonly maxFeePerGas: string
  readonly maxPriorityFeePerGas: string
  /** The transaction of ours that it was signed for; `null` for a stranger's. */
  readonly signedFor: string | null
}

export type ChainBlock = {
  readonly number: number
  readonly hash: string
  readonly parentHash: string
  readonly timestamp: number
  readonly baseFee: bigint
  readonly transactions: readonly Wire[]
  /** Transactions of each account up to and with this block. */
  readonly counts: ReadonlyMap<string, number>
}

export type PoolAnswer = 'ok' | 'already known' | 'nonce too low' | 'replacement transaction underpriced'

/** Calls that send to this address revert. */
export const REVERTING = `0x${'de'.repeat(20)}`

export type SimulatedChain = ReturnType<typeof createChain>

export function createChain(random: Random, confirmations: number) {
  let made = 0
  const hash = (): string => `0x${(++made).toString(16).padStart(64, 'b')}`
  let blocks: ChainBlock[] = [
    {
      number: 0,
      hash: hash(),
      parentHash: `0x${'0'.repeat(64)}`,
      timestamp: 1_000,
      baseFee: 10n,
      transactions: [],
      counts: new Map(),
    },
  ]
  let pool = new Map<string, Wire>()
  let left: readonly ChainBlock[] = blocks
  let highest = 0
  let baseFee = 10n
  const sent = new Map<string, Wire>()
  const head = (): ChainBlock => blocks.at(-1) as ChainBlock
  const place = ({ from, nonce }: Wire): string => `${from} ${nonce}`

  function take(wire: Wire): PoolAnswer {
    sent.set(wire.hash, wire)
    if (wire.nonce < (head().counts.get(wire.from) ?? 0)) return 'nonce too low'
    const before = pool.get(place(wire))
    if (before?.hash === wire.hash) return 'already known'
    if (before !== undefined && !outbids(wire, before)) return 'replacement transaction underpriced'
    pool.set(place(wire), wire)
    return 'ok'
  }

  /** Bytes that a miner has for this place: what is in the pool, or, with a whim, any that were ever sent. */
  function candidate(from: string, nonce: number, whim: boolean): Wire | undefined {
    const known = [...sent.values()].filter((wire) => wire.from === from && wire.nonce === nonce)
    const wire = whim && known.length > 0 ? random.pick(known) : pool.get(`${from} ${nonce}`)
    return wire !== undefined && BigInt(wire.maxFeePerGas) >= baseFee ? wire : undefined
  }

  function mine(options: { readonly room: number; readonly whims: boolean }): void {
    const counts = new Map(head().counts)
    const transactions: Wire[] = []
    for (const from of new Set([...sent.values()].map((wire) => wire.from))) {
      while (transactions.length < options.room) {
        const nonce = counts.get(from) ?? 0
        const wire = candidate(from, nonce, options.whims && random.chance(0.2))
        if (wire === undefined) break
        transactions.push(wire)
        counts.set(from, nonce + 1)
      }
    }
    const { number, timestamp, hash: parentHash } = head()
    blocks = [
      ...blocks,
      { number: number + 1, hash: hash(), parentHash, timestamp: timestamp + 12, baseFee, transactions, counts },
    ]
    for (const wire of transactions) pool.delete(place(wire))
    highest = Math.max(highest, number + 1)
  }

  /** Nothing that a stranger sent leaves the chain once it is final: that a nonce never comes free again is given. */
  function deepest(): number {
    const final = highest - confirmations
    const fixed = blocks.findLast(
      ({ number, transactions }) => number <= final && transactions.some(({ signedFor }) => signedFor === null),
    )
    return head().number - (fixed?.number ?? 0)
  }

  /** Takes blocks from the top. @param keeps the probability that the pool gets back what was in them */
  function reorg(depth: number, keeps: number): number {
    const taken = Math.min(depth, deepest())
    if (taken <= 0) return 0
    left = blocks
    const undone = blocks.slice(-taken).flatMap(({ transactions }) => transactions)
    blocks = blocks.slice(0, -taken)
    for (const wire of undone) if (random.chance(keeps) && !pool.has(place(wire))) pool.set(place(wire), wire)
    return taken
  }

  return {
    take,
    mine,
    reorg,
    forgetPool: () => {
      pool = new Map()
    },
    stranger: (from: string) => {
      const nonce = head().counts.get(from) ?? 0
      const fee = (baseFee * 20n).toString()
      take({
        hash: hash(),
        from,
        to: from,
        nonce,
        value: '0',
        maxFeePerGas: fee,
        maxPriorityFeePerGas: fee,
        signedFor: null,
      })
    },
    setBaseFee: (fee: bigint) => {
      baseFee = fee
    },
    baseFee: () => baseFee,
    blocks: () => blocks,
    /** The branch that was left last, as a replica may still show it. */
    left: () => left,
    sent: () => [...sent.values()],
    head,
    /** Whether a stranger's transaction took this place for good. */
    isLost: (from: string, nonce: number): boolean =>
      blocks.some(
        ({ number, transactions }) =>
          number <= highest - confirmations &&
          transactions.some((wire) => wire.from === from && wire.nonce === nonce && wire.signedFor === null),
      ),
  }
}

/** A tenth more in both fees, as nodes ask. */
function outbids(wire: Wire, before: Wire): boolean {
  const more = (a: string, b: string) => BigInt(a) * 10n >= BigInt(b) * 11n
  return more(wire.maxFeePerGas, before.maxFeePerGas) && more(wire.maxPriorityFeePerGas, before.maxPriorityFeePerGas)
}
