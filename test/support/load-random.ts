/**
 * Random numbers derived from a seed, so that a failed run can be repeated: mulberry32 (Tommy Ettinger, public domain).
 */

export type Random = {
  /** In [0, 1). */
  readonly next: () => number
  /** An integer in [from, to], both inclusive. */
  readonly between: (from: number, to: number) => number
  readonly pick: <T>(items: readonly T[]) => T
  /** True with the given probability. */
  readonly chance: (probability: number) => boolean
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1))
  return {
    next,
    between,
    pick: (items) => items[between(0, items.length - 1)] as (typeof items)[number],
    chance: (probability) => next() < probability,
  }
}
