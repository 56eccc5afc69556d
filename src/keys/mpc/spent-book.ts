/**
 * Adds up what one party has helped to spend of the limits of policies, across restarts: whoever takes the database cannot make it forget.
 * Any two of three parties see two thirds of all signatures on average, so that all of them together sign at most one and a half
 * times the limit; a party alone never more than the limit.
 *
 * Invariant: what a transaction spends is counted on disk before it is granted, and once.
 */
import { type Static, Type } from '@sinclair/typebox'
import type { SpentLimit } from '../coverage.ts'
import { type Counted, MIN_LINES, openCountingJournal } from './counting-journal.ts'

/** Transactions that are looked up at once. */
const MOST_TOGETHER = 1_000

/**
 * Those of these transactions that are in a block and moved nothing, according to the log: only `kept` is spent. What failed without
 * a block is not among them: the bytes that this party helped to sign may still be mined. @throws Unavailable
 */
export type RevertedOf = (transactionIds: readonly string[]) => Promise<readonly string[]>

type Spending = { readonly transactionId: string; readonly limits?: readonly SpentLimit[] }

export type SpentBook = Counted & {
  /**
   * Grants a transaction, the same one again without counting it twice. False when a limit has no room for it.
   *
   * @throws Unavailable `mpc_journal_full`, `mpc_journal_failed` or `mpc_journal_damaged`, or when the log cannot be read
   */
  readonly take: (spending: Spending, revertedOf: RevertedOf) => Promise<boolean>
}

const Digits = Type.String({ pattern: '^\\d{1,96}$' })
/** Transaction, counter, begin of the bucket in ms, seconds of the window, limit, amount, kept. */
const Entry = Type.Tuple([Type.String(), Type.String(), Type.Integer(), Type.Integer(), Digits, Digits, Digits])
type Entry = Static<typeof Entry>
const Line = Type.Object({ spent: Type.Array(Entry) }, { additionalProperties: false })

type Spent = {
  readonly id: string
  readonly counter: string
  readonly at: number
  readonly windowMs: number
  readonly limit: bigint
  amount: bigint
  readonly kept: bigint
}
/** `most`: the highest limit of its entries. */
type Bucket = { readonly entries: Map<string, Spent>; sum: bigint; most: bigint }
/** By the begin of the bucket. */
type Buckets = Map<number, Bucket>

/**
 * @param now the clock of this machine, ms: it only decides what is old
 * @throws Unavailable `mpc_journal_damaged`
 */
export async function openSpentBook(path: string, now: () => number): Promise<SpentBook> {
  const { journal, records } = await openCountingJournal(path, Line)
  const counters = new Map<string, Buckets>()
  let size = 0
  for (const { spent } of records) for (const entry of spent) add(fromEntry(entry))

  function add(spent: Spent): void {
    const buckets: Buckets = counters.get(spent.counter) ?? new Map()
    const bucket: Bucket = buckets.get(spent.at) ?? { entries: new Map(), sum: 0n, most: 0n }
    if (bucket.entries.has(spent.id)) return
    bucket.entries.set(spent.id, spent)
    bucket.sum += spent.amount
    if (spent.limit > bucket.most) bucket.most = spent.limit
    counters.set(spent.counter, buckets.set(spent.at, bucket))
    size += 1
  }

  /** What no window reaches any more. */
  function dropOld(): void {
    for (const [counter, buckets] of counters) {
      for (const [at, { entries }] of buckets) {
        const [first] = entries.values()
        if (first === undefined || at + 2 * first.windowMs > now()) continue
        size -= entries.size
        buckets.delete(at)
      }
      if (buckets.size === 0) counters.delete(counter)
    }
  }

  async function record(added: readonly Spent[]): Promise<void> {
    if (journal.lines() > 0 && journal.lines() % MIN_LINES === 0) dropOld()
    const known = () =>
      [...counters.values()].flatMap((buckets) => [...buckets.values()].flatMap(({ entries }) => [...entries.values()]))
    await journal.record({ spent: added.map(toEntry) }, size, () => ({ spent: [...known(), ...added].map(toEntry) }))
    for (const spent of added) add(spent)
  }

  async function grant({ transactionId, limits = [] }: Spending, revertedOf: RevertedOf): Promise<boolean> {
    const wanted = limits.map((limit) => spentOf(transactionId, limit))
    const added = wanted.filter(({ id, counter, at }) => counters.get(counter)?.get(at)?.entries.has(id) !== true)
    for (const spent of added) {
      const buckets: Buckets = counters.get(spent.counter) ?? new Map()
      if (fits(buckets, spent)) continue
      await giveBack(buckets, spent, revertedOf)
      if (!fits(buckets, spent)) return false
    }
    if (added.length > 0) await record(added)
    return true
  }

  const { damage, check, close } = journal
  return {
    damage,
    check,
    close,
    take: (spending, revertedOf) => journal.inTurn(() => grant(spending, revertedOf)),
  }
}

/**
 * Whether every interval as long as the window, with the bucket in it, has room. The limit is the highest of those that were in force for what is
 * in it: a lower one does not refuse what was accepted before.
 */
function fits(buckets: Buckets, { at, windowMs, amount, limit }: Spent): boolean {
  const near = [...buckets.keys()].filter((each) => each >= at - windowMs && each <= at + windowMs)
  const ends = [at, ...near.filter((each) => each > at)]
  return ends.every((end) => {
    let [sum, most] = [amount, limit]
    for (const each of near) {
      if (each > end || each < end - windowMs) continue
      const bucket = buckets.get(each)
      sum += bucket?.sum ?? 0n
      if (bucket !== undefined && bucket.most > most) most = bucket.most
    }
    return sum <= most
  })
}

/** Counts only what is spent of those that reverted. */
async function giveBack(buckets: Buckets, { at, windowMs }: Spent, revertedOf: RevertedOf): Promise<void> {
  const near = [...buckets].flatMap(([each, bucket]) =>
    Math.abs(each - at) <= windowMs ? Array.from(bucket.entries.values(), (spent) => ({ bucket, spent })) : [],
  )
  const open = near.filter(({ spent }) => spent.amount > spent.kept)
  for (let from = 0; from < open.length; from += MOST_TOGETHER) {
    const some = open.slice(from, from + MOST_TOGETHER)
    const reverted = new Set(await revertedOf([...new Set(some.map(({ spent }) => spent.id))]))
    for (const { bucket, spent } of some) {
      if (!reverted.has(spent.id)) continue
      bucket.sum -= spent.amount - spent.kept
      spent.amount = spent.kept
    }
  }
}

function spentOf(id: string, { counter, bucket, windowSeconds, limit, amount, kept }: SpentLimit): Spent {
  return { id, counter, at: Date.parse(bucket), windowMs: windowSeconds * 1_000, limit, amount, kept }
}

function toEntry({ id, counter, at, windowMs, limit, amount, kept }: Spent): Entry {
  return [id, counter, at, windowMs / 1_000, `${limit}`, `${amount}`, `${kept}`]
}

function fromEntry([id, counter, at, seconds, limit, amount, kept]: Entry): Spent {
  return {
    id,
    counter,
    at,
    windowMs: seconds * 1_000,
    limit: BigInt(limit),
    amount: BigInt(amount),
    kept: BigInt(kept),
  }
}
