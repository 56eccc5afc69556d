/**
 * What was reserved in windows of time, as the append counts it: a reservation fits if the buckets from one window before its own
 * on, and all later ones, have room for it.
 */
import type { Reservation } from '../core/spend-limits.ts'

type Bucket = { readonly at: number; spent: bigint }
type Counter = {
  /** In the order of time, ms. Almost all reservations are in the last one. */
  readonly buckets: Bucket[]
  /** The first bucket that counted last time, and the sum from it on. */
  first: number
  sum: bigint
}

export type Windows = {
  /** What is left of the limit after a reservation; below zero if it does not fit. */
  readonly leftAfter: (reservation: Reservation) => bigint
  /** Counts an amount in the bucket of a reservation; a negative one gives back. */
  readonly count: (reservation: Pick<Reservation, 'counter' | 'bucket'>, amount: bigint) => void
}

/** As the append: no window reaches further back, and what clocks may differ. */
const KEPT_MS = 32 * 86_400_000
/** Between two rounds that forget what no window reaches: memory grows with what is spent in a window, not with the past. */
const FORGET_AFTER = 50_000

/** Windows in which nothing was spent. */
export function createWindows(): Windows {
  const counters = new Map<string, Counter>()
  let newest = Number.NEGATIVE_INFINITY
  let counted = 0
  const forget = () => {
    for (const [name, { buckets }] of counters)
      if ((buckets.at(-1)?.at ?? newest) < newest - KEPT_MS) counters.delete(name)
    for (const counter of counters.values()) {
      const gone = counter.buckets.findIndex(({ at }) => at >= newest - KEPT_MS)
      if (gone <= 0 || counter.first < gone) continue
      counter.buckets.splice(0, gone)
      counter.first -= gone
    }
  }
  // Reservations of one request are in the same bucket, and those of the next one mostly are, too.
  let known = { text: '', ms: 0 }
  const timeOf = (text: string) => {
    if (known.text !== text) known = { text, ms: Date.parse(text) }
    return known.ms
  }
  return {
    leftAfter({ counter: name, bucket, windowSeconds, limit, amount }) {
      const counter = counters.get(name)
      return limit - amount - (counter === undefined ? 0n : spentSince(counter, timeOf(bucket) - windowSeconds * 1_000))
    },
    count({ counter: name, bucket }, amount) {
      const counter = counters.get(name) ?? { buckets: [], first: 0, sum: 0n }
      counters.set(name, counter)
      const at = timeOf(bucket)
      add(counter, at, amount)
      newest = Math.max(newest, at)
      counted += 1
      if (counted % FORGET_AFTER === 0) forget()
    },
  }
}

function spentSince(counter: Counter, since: number): bigint {
  const { buckets } = counter
  for (
    let bucket = buckets[counter.first];
    bucket !== undefined && bucket.at < since;
    bucket = buckets[counter.first]
  ) {
    counter.sum -= bucket.spent
    counter.first += 1
  }
  for (
    let bucket = buckets[counter.first - 1];
    bucket !== undefined && bucket.at >= since;
    bucket = buckets[counter.first - 1]
  ) {
    counter.sum += bucket.spent
    counter.first -= 1
  }
  return counter.sum
}

function add(counter: Counter, at: number, amount: bigint): void {
  const { buckets } = counter
  let place = buckets.length
  while (place > 0 && (buckets[place - 1]?.at ?? at) >= at) place -= 1
  const found = buckets[place]
  if (found?.at === at) found.spent += amount
  else buckets.splice(place, 0, { at, spent: amount })
  if (place >= counter.first) counter.sum += amount
  else if (found?.at !== at) counter.first += 1
}
