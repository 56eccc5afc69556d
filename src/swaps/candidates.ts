/**
 * The paths that a swap may take through living pools: direct, and over one token between. Every pool of the pair
 * itself, and the deepest two of each hop of a longer path. Pure.
 */

import type { Hop } from './events.ts'
import type { Price, PricedHop } from './impact.ts'
import { betweenTokens, type Market, type Pair, type Venue } from './market.ts'
import type { Pool } from './pools.ts'

/** A pool that can exchange something, at a block. */
export type LivingPool = Pool & {
  /** What one base unit of its first token is worth in its second. */
  readonly price: Price
  /** Its liquidity as Uniswap defines it: the square root of the product of its reserves, in range. */
  readonly depth: bigint
}

export type CandidateHop = Hop & PricedHop

export type Candidate = { readonly venue: Venue; readonly hops: readonly CandidateHop[] }

/** Pools tried for each hop of a path over another token. */
const POOLS_PER_HOP = 2

/** @param pools those of every pair of the quote */
export function candidatesOf(market: Market, pools: readonly LivingPool[], pair: Pair): readonly Candidate[] {
  const [from, to] = pair
  return market.venues.flatMap((venue) => {
    const own = pools.filter((pool) => pool.venue === venue)
    const hopsOf = (a: string, b: string) => deepestFirst(own, [a, b]).map((pool) => hopOf(pool, a, b))
    const direct = hopsOf(from, to).map((hop) => [hop])
    const over = betweenTokens(market, pair).flatMap((token) =>
      hopsOf(from, token)
        .slice(0, POOLS_PER_HOP)
        .flatMap((first) =>
          hopsOf(token, to)
            .slice(0, POOLS_PER_HOP)
            .map((second) => [first, second]),
        ),
    )
    return [...direct, ...over].map((hops) => ({ venue, hops }))
  })
}

/**
 * What one base unit of a token costs in another, in the deepest pool of the two; `null` without a pool. It prices gas,
 * so one pool is exact enough.
 */
export function priceBetween(pools: readonly LivingPool[], [from, to]: Pair): Price | null {
  if (from === to) return { in: 1n, out: 1n }
  const [deepest] = deepestFirst(pools, [from, to])
  return deepest === undefined ? null : priceFrom(deepest, from)
}

function deepestFirst(pools: readonly LivingPool[], pair: Pair): readonly LivingPool[] {
  return pools
    .filter(({ tokens }) => tokens.includes(pair[0]) && tokens.includes(pair[1]))
    .sort((a, b) => (a.depth > b.depth ? -1 : a.depth < b.depth ? 1 : 0))
}

function hopOf(pool: LivingPool, from: string, to: string): CandidateHop {
  return { from, to, pool: pool.address, feePpm: pool.feePpm, price: priceFrom(pool, from) }
}

function priceFrom({ tokens, price }: LivingPool, from: string): Price {
  return tokens[0] === from ? price : { in: price.out, out: price.in }
}
