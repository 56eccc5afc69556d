/**
 * The paths that a swap may take: direct, and over one token between, within one exchange. Every pool that gives
 * anything is a part of one: none is left out because of what it says about itself. Pure.
 */
import type { AskedEdge } from './edges.ts'
import type { Hop } from './events.ts'
import type { PricedHop } from './impact.ts'
import type { Market, Pair, Venue } from './market.ts'
import { betweenTokens } from './market.ts'

export type CandidateHop = Hop & PricedHop

export type Candidate = { readonly venue: Venue; readonly hops: readonly CandidateHop[] }

/** With what is expected of it, in base units. */
export type PlannedPath = Candidate & {
  /** What comes out. */
  readonly out: (amountIn: number) => number
  /** What must go in; infinity for more than its pools give. */
  readonly in: (amountOut: number) => number
}

/** @param edges those that were asked, of every pair of the quote */
export function candidatesOf(market: Market, edges: readonly AskedEdge[], pair: Pair): readonly PlannedPath[] {
  const giving = edges.filter(({ points }) => points.length > 0)
  return pathsOf(market, giving, pair).flatMap(({ venue, path }) => plannedPath(venue, path) ?? [])
}

/** Whether there is a path that gives something, or might. */
export function hasPath(market: Market, edges: readonly AskedEdge[], pair: Pair): boolean {
  const open = edges.filter(({ price, isKnown }) => price !== null || !isKnown)
  return pathsOf(market, open, pair).length > 0
}

function pathsOf(market: Market, edges: readonly AskedEdge[], pair: Pair) {
  const [from, to] = pair
  return market.venues.flatMap((venue) => {
    const own = edges.filter(({ pool }) => pool.venue === venue)
    const between = (a: string, b: string) => own.filter((edge) => edge.from === a && edge.to === b)
    const over = betweenTokens(market, pair).flatMap((token) =>
      between(from, token).flatMap((first) => between(token, to).map((second) => [first, second])),
    )
    return [...between(from, to).map((edge) => [edge]), ...over].map((path) => ({ venue, path }))
  })
}

function plannedPath(venue: Venue, path: readonly AskedEdge[]): PlannedPath | null {
  const hops = path.flatMap(({ from, to, pool, price }): CandidateHop[] =>
    price === null ? [] : [{ from, to, pool: pool.address, feePpm: pool.feePpm, price }],
  )
  if (hops.length < path.length) return null
  return {
    venue,
    hops,
    out: (amountIn) => path.reduce((amount, { curve }) => curve.out(amount), amountIn),
    in: (amountOut) => path.reduceRight((amount, { curve }) => curve.in(amount), amountOut),
  }
}
