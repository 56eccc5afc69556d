/**
 * In-memory token buckets for a bounded number of keys. Not in shared storage, because a round trip per request would
 * cost more than the request: N processes allow N times the rate.
 */
import type { Clock } from '../core/ids.ts'

export type BucketRules = {
  /** Tokens of an idle key: the burst size. */
  readonly capacity: number
  readonly refillPerSecond: number
  /** Keys remembered at once; more evict the oldest, which then start full again. */
  readonly maxKeys: number
}

type Bucket = { tokens: number; filledAt: number }

export class TokenBuckets {
  readonly capacity: number
  readonly #refillPerMs: number
  readonly #maxKeys: number
  readonly #clock: Clock
  readonly #buckets = new Map<string, Bucket>()

  constructor(rules: BucketRules, clock: Clock) {
    this.capacity = rules.capacity
    this.#refillPerMs = rules.refillPerSecond / 1_000
    this.#maxKeys = rules.maxKeys
    this.#clock = clock
  }

  /**
   * Takes a token, or several: all that are left if `cost` is more. @returns tokens left, possibly fractional; -1 when
   * there were too few
   */
  take(key: string, cost = 1): number {
    const bucket = this.#refilled(key)
    const taken = Math.min(cost, this.capacity)
    if (bucket.tokens < taken) return -1
    bucket.tokens -= taken
    return bucket.tokens
  }

  /** Seconds until a key that was just checked has one token, rounded up, at least 1. */
  secondsUntilOne(key: string): number {
    return this.secondsToGain(1 - (this.#buckets.get(key)?.tokens ?? this.capacity))
  }

  /** Seconds until this many tokens are gained, rounded up, at least 1. */
  secondsToGain(tokens: number): number {
    return Math.max(1, Math.ceil(tokens / this.#refillPerMs / 1_000))
  }

  /** Keys remembered now. */
  get size(): number {
    return this.#buckets.size
  }

  #refilled(key: string): Bucket {
    const now = this.#clock()
    const known = this.#buckets.get(key)
    if (known === undefined) return this.#add(key, now)
    const gained = Math.max(0, now - known.filledAt) * this.#refillPerMs
    known.tokens = Math.min(this.capacity, known.tokens + gained)
    known.filledAt = now
    return known
  }

  #add(key: string, now: number): Bucket {
    if (this.#buckets.size >= this.#maxKeys) this.#makeRoom(now)
    const bucket = { tokens: this.capacity, filledAt: now }
    this.#buckets.set(key, bucket)
    return bucket
  }

  /** Evicts keys whose bucket is full, which has no effect for them; otherwise the oldest tenth. */
  #makeRoom(now: number): void {
    for (const [key, { tokens, filledAt }] of this.#buckets) {
      if (tokens + (now - filledAt) * this.#refillPerMs >= this.capacity) this.#buckets.delete(key)
    }
    const target = this.#maxKeys - Math.ceil(this.#maxKeys / 10)
    for (const key of this.#buckets.keys()) {
      if (this.#buckets.size <= target) break
      this.#buckets.delete(key)
    }
  }
}
