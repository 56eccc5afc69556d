/**
 * An in-memory chain with a pool: it mines, reorganises, forgets pending transactions, and may mine any bytes ever sent
 * to it, even if their sender has replaced them.
 */
import type { Random } from '../support/load-random.ts'

/** A transaction with its bytes, and who signed it. */
export type Wire = {
  readonly hash: string
  /** The signed bytes; `null` for a deposit, which no test reads. */
  readonly signed: { readonly raw: string; readonly r: string; readonly s: string; readonly yParity: number } | null
  readonly from: string
  readonly to: string
  readonly nonce: number
  readonly value: string
  readonly gasLimit: string
  readonly maxFeePerGas: string
  readonly maxPriorityFeePerGas: string
  /** The transaction of the service that it was signed for; `null` for a foreign one. */
  readonly signedFor: string | null
}

export type ChainBlock = {
  readonly number: number
  readonly hash: string
  readonly parentHash: string
  readonly timestamp: number
  readonly baseFee: bigint
  readonly transactions: readonly Wire[]
  /** Transaction count of each account up to and including this block. */
  readonly counts: ReadonlyMap<string, number>
  /** Balance of each account after this block, in wei. */
  readonly balances: ReadonlyMap<string, bigint>
}

export type PoolAnswer =
  | 'ok'
  | 'already known'
  | 'nonce too low'
  | 'replacement transaction underpriced'
  | 'insufficient funds for gas * price + value'

/** Calls to this address revert. */
export const REVERTING = `0x${'de'.repeat(20)}`

/** Pays deposits to wallets; has unlimited funds. */
const DONOR = `0x${'d0'.repeat(20)}`
const DONOR_FEE = (10n ** 15n).toString()

/** Fees and amounts are multiples of it: a tag is small beside them, as on real chains. */
export const UNIT_WEI = 10n ** 7n

/** Gas used by every call. */
export const GAS_USED = 21_000n

/** Whether the service signed it. */
export function isOwn({ signedFor }: Wire): boolean {
  return signedFor !== null
}

/** Whether another program sent it from a wallet. */
export function isStranger({ signedFor, from }: Wire): boolean {
  return signedFor === null && from !== DONOR
}

const FIRST_BASE_FEE = 10n * UNIT_WEI

export class SimulatedChain {
  readonly #random: Random
  readonly #confirmations: number
  readonly #now: () => number
  readonly #signed = new Map<string, Wire>()
  readonly #sent = new Map<string, Wire>()
  readonly #buried = new Set<string>()
  #made = 0
  #blocks: ChainBlock[]
  #pool = new Map<string, Wire>()
  #left: readonly ChainBlock[] = []
  #highest = 0
  #deepest = 0
  #baseFee = FIRST_BASE_FEE
  #isStrict = false

  /** @param now the true time, ms */
  constructor(random: Random, confirmations: number, now: () => number) {
    this.#random = random
    this.#confirmations = confirmations
    this.#now = now
    const genesis = {
      number: 0,
      hash: this.#nextHash(),
      parentHash: `0x${'0'.repeat(64)}`,
      timestamp: Math.floor(now() / 1_000),
    }
    this.#blocks = [{ ...genesis, baseFee: FIRST_BASE_FEE, transactions: [], counts: new Map(), balances: new Map() }]
  }

  #nextHash(): string {
    this.#made += 1
    return `0x${'b'.repeat(48)}${this.#made.toString(16).padStart(16, '0')}`
  }

  head(): ChainBlock {
    return this.#blocks.at(-1) as ChainBlock
  }

  blocks(): readonly ChainBlock[] {
    return this.#blocks
  }

  /** The last abandoned branch, which a replica may still return. */
  left(): readonly ChainBlock[] {
    return this.#left
  }

  /** Signed bytes, whether or not a node gets them. The same bytes are one transaction, whoever signs them again. */
  sign(wire: Wire): Wire {
    const raw = wire.signed?.raw ?? ''
    const known = this.#signed.get(raw) ?? wire
    this.#signed.set(raw, known)
    return known
  }

  /** The transaction of these bytes. */
  wireOf(raw: string): Wire {
    const wire = this.#signed.get(raw)
    if (wire === undefined) throw new Error('nobody signed these bytes')
    return wire
  }

  /** What a node counts for an account with the transactions that its pool can mine next, and what it shows of one. */
  pendingCount(from: string): number {
    let nonce = this.head().counts.get(from) ?? 0
    while (this.#pool.has(placeOf({ from, nonce }))) nonce += 1
    return nonce
  }

  pooled(): Wire[] {
    return [...this.#pool.values()]
  }

  /** All bytes that a node ever accepted. */
  sent(): Wire[] {
    return [...this.#sent.values()]
  }

  baseFee(): bigint {
    return this.#baseFee
  }

  setBaseFee(fee: bigint): void {
    this.#baseFee = fee
  }

  /** Nodes refuse what an account cannot pay at its highest price beside everything else that they have of it. */
  demandFunds(): void {
    this.#isStrict = true
  }

  #canPay(wire: Wire): boolean {
    const others = this.pooled().filter((other) => other.from === wire.from && other.nonce !== wire.nonce)
    const cost = [...others, wire].reduce((sum, each) => sum + mostCost(each), 0n)
    return cost <= (this.head().balances.get(wire.from) ?? 0n)
  }

  forgetPool(): void {
    this.#pool = new Map()
  }

  /** No node has these bytes any more, and none will mine them unless they are sent again. */
  bury(hash: string): void {
    this.#buried.add(hash)
    for (const [place, wire] of this.#pool) if (wire.hash === hash) this.#pool.delete(place)
  }

  take(wire: Wire): PoolAnswer {
    this.#sent.set(wire.hash, wire)
    this.#buried.delete(wire.hash)
    if (wire.nonce < (this.head().counts.get(wire.from) ?? 0)) return 'nonce too low'
    const before = this.#pool.get(placeOf(wire))
    if (before?.hash === wire.hash) return 'already known'
    if (before !== undefined && !outbids(wire, before)) return 'replacement transaction underpriced'
    if (this.#isStrict && isOwn(wire) && !this.#canPay(wire)) return 'insufficient funds for gas * price + value'
    this.#pool.set(placeOf(wire), wire)
    return 'ok'
  }

  /** Pays into an account. */
  deposit(to: string, wei: bigint): void {
    let nonce = this.head().counts.get(DONOR) ?? 0
    while (this.#pool.has(placeOf({ from: DONOR, nonce }))) nonce += 1
    const fees = { gasLimit: GAS_USED.toString(), maxFeePerGas: DONOR_FEE, maxPriorityFeePerGas: DONOR_FEE }
    const fields = { from: DONOR, to, nonce, value: wei.toString(), ...fees, signedFor: null, signed: null }
    this.take({ hash: this.#nextHash(), ...fields })
  }

  /** Bytes that a miner may include here: from the pool or, with `whim`, any ever sent. */
  #candidate(from: string, nonce: number, whim: boolean): Wire | undefined {
    const known = this.sent().filter(
      (wire) => wire.from === from && wire.nonce === nonce && !this.#buried.has(wire.hash),
    )
    const wire = whim && known.length > 0 ? this.#random.pick(known) : this.#pool.get(placeOf({ from, nonce }))
    return wire !== undefined && BigInt(wire.maxFeePerGas) >= this.#baseFee ? wire : undefined
  }

  mine(options: { readonly room: number; readonly whims: boolean }): void {
    const counts = new Map(this.head().counts)
    const balances = new Map(this.head().balances)
    const transactions: Wire[] = []
    for (const from of new Set(this.sent().map((wire) => wire.from))) {
      while (transactions.length < options.room) {
        const nonce = counts.get(from) ?? 0
        const wire = this.#candidate(from, nonce, options.whims && this.#random.chance(0.2))
        if (wire === undefined || !pay(balances, wire, this.#baseFee)) break
        transactions.push(wire)
        counts.set(from, nonce + 1)
      }
    }
    const { number: before, timestamp, hash: parentHash } = this.head()
    const time = Math.max(timestamp + 1, Math.floor(this.#now() / 1_000))
    const block = { number: before + 1, hash: this.#nextHash(), parentHash, timestamp: time }
    this.#blocks = [...this.#blocks, { ...block, baseFee: this.#baseFee, transactions, counts, balances }]
    for (const wire of transactions) this.#pool.delete(placeOf(wire))
    this.#highest = Math.max(this.#highest, block.number)
  }

  #isFinal({ number }: ChainBlock): boolean {
    return number <= this.#highest - this.#confirmations
  }

  /**
   * Removes blocks from the top, except those in which a foreign transaction is final: law 2 relies on such a nonce
   * never becoming free again.
   *
   * @param keeps the probability that the pool gets their transactions back
   * @returns the number of removed blocks
   */
  reorg(depth: number, keeps: number): number {
    const fixed = this.#blocks.findLast((block) => this.#isFinal(block) && block.transactions.some(isStranger))
    const taken = Math.min(depth, this.head().number - (fixed?.number ?? 0))
    if (taken <= 0) return 0
    this.#left = this.#blocks
    this.#deepest = Math.max(this.#deepest, taken)
    const undone = this.#blocks.slice(-taken).flatMap(({ transactions }) => transactions)
    this.#blocks = this.#blocks.slice(0, -taken)
    for (const wire of undone)
      if (this.#random.chance(keeps) && !this.#pool.has(placeOf(wire)) && !this.#buried.has(wire.hash))
        this.#pool.set(placeOf(wire), wire)
    return taken
  }

  /** Mines empty blocks until the chain is higher than ever before, like a branch that replaces another. */
  outgrow(): void {
    const highest = this.#highest
    while (this.head().number <= highest) this.mine({ room: 0, whims: false })
  }

  /** How many blocks may leave the chain without a reorg deeper than the confirmations. */
  reorgRoom(): number {
    return this.head().number - (this.#highest - this.#confirmations)
  }

  /** The depth of the deepest reorg so far. */
  deepestReorg(): number {
    return this.#deepest
  }

  /** Whether a foreign transaction has permanently used this nonce. */
  isLost(from: string, nonce: number): boolean {
    const isTaken = (wire: Wire) => wire.from === from && wire.nonce === nonce && isStranger(wire)
    return this.#blocks.some((block) => this.#isFinal(block) && block.transactions.some(isTaken))
  }
}

/** Applies the transfer of a transaction. False when its sender cannot pay: no block includes it then. */
function pay(balances: Map<string, bigint>, { from, to, value }: Wire, baseFee: bigint): boolean {
  const moved = to === REVERTING ? 0n : BigInt(value)
  const has = balances.get(from) ?? 0n
  const cost = GAS_USED * baseFee
  if (from !== DONOR && has < BigInt(value) + cost) return false
  if (from !== DONOR) balances.set(from, has - moved - cost)
  balances.set(to, (balances.get(to) ?? 0n) + moved)
  return true
}

function mostCost({ value, gasLimit, maxFeePerGas }: Wire): bigint {
  return BigInt(value) + BigInt(gasLimit) * BigInt(maxFeePerGas)
}

function placeOf({ from, nonce }: Pick<Wire, 'from' | 'nonce'>): string {
  return `${from} ${nonce}`
}

/** A tenth more in both fees, as nodes require. */
function outbids(wire: Wire, before: Wire): boolean {
  const more = (a: string, b: string) => BigInt(a) * 10n >= BigInt(b) * 11n
  return more(wire.maxFeePerGas, before.maxFeePerGas) && more(wire.maxPriorityFeePerGas, before.maxPriorityFeePerGas)
}
