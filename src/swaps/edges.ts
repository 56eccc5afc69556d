/**
 * The exchanges of one token for another that a quote may use, in the order in which they are asked: the pools of the
 * pair itself, and for each token between, the pools of both hops. Pure.
 */

import { PPM, sqrtPriceOfWord } from './contracts/exchange-reads.ts'
import { type AskedPool, MAX_POOLS_PER_CALL, type PoolAnswer } from './contracts/pool-reads.ts'
import { type Curve, curveOf, type Point, pairCurve } from './curve.ts'
import type { Price } from './impact.ts'
import { betweenTokens, type Market, type Pair } from './market.ts'
import type { Pool } from './pools.ts'

/** A pool in one direction. */
export type Edge = {
  readonly pool: Pool
  readonly from: string
  readonly to: string
  /** Asked for the best answers of the edges of the same way with stage 0. */
  readonly stage: 0 | 1
}

/** Edges that are asked together: of the pair itself, or over one token between. */
export type Way = readonly Edge[]

export type AskedEdge = Edge & {
  /** What one base unit is worth before the swap, without the fee; `null` where the pool has no price or nothing to give. */
  readonly price: Price | null
  readonly points: readonly Point[]
  readonly curve: Curve
  /** Whether the pool has said what it gives. */
  readonly isKnown: boolean
}

const Q192 = 1n << 192n

/** @param pools those of every pair of the quote */
export function waysOf(market: Market, pools: readonly Pool[], pair: Pair, exactOutput: boolean): readonly Way[] {
  const [from, to] = pair
  const edges = (a: string, b: string, stage: 0 | 1): Edge[] =>
    pools
      .filter(({ tokens }) => tokens.includes(a) && tokens.includes(b))
      .map((pool) => ({ pool, from: a, to: b, stage }))
  const over = betweenTokens(market, pair).map((token) => [
    ...edges(from, token, exactOutput ? 1 : 0),
    ...edges(token, to, exactOutput ? 0 : 1),
  ])
  const joined = over.filter((way) => way.some(({ stage }) => stage === 0) && way.some(({ stage }) => stage === 1))
  return [edges(from, to, 0), ...joined].filter((way) => way.length > 0).flatMap(inCalls)
}

/** Very many pools are asked for each exchange separately. */
function inCalls(way: Way): readonly Way[] {
  if (way.length <= MAX_POOLS_PER_CALL) return [way]
  const venues = [...new Set(way.map(({ pool }) => pool.venue))]
  return venues.map((venue) => way.filter(({ pool }) => pool.venue === venue).slice(0, MAX_POOLS_PER_CALL))
}

export function questionOf({ pool, from, to }: Edge, stage: 0 | 1): AskedPool {
  const { venue, address, feePpm } = pool
  return { quoter: venue.kind === 'v3' ? venue.quoter : null, pool: address, from, to, feePpm, stage }
}

/** The best answer for each amount: what the second stage is asked for. 0 where there is none. */
export function bestOf(
  answers: readonly PoolAnswer[],
  amounts: readonly bigint[],
  exactOutput: boolean,
): readonly bigint[] {
  return amounts.map((amount) =>
    answers
      .flatMap(({ points }) => points.filter((point) => point.amount === amount).flatMap(({ other }) => other ?? []))
      .reduce((best, other) => (best === 0n || other < best === exactOutput ? other : best), 0n),
  )
}

export function readEdge(edge: Edge, { outcome, state, points }: PoolAnswer, exactOutput: boolean): AskedEdge {
  const price = priceOf(edge, state)
  const given = points.flatMap(({ amount, other }): Point[] => {
    if (other === null) return []
    return [exactOutput ? { amountIn: other, amountOut: amount } : { amountIn: amount, amountOut: other }]
  })
  const kept = 1 - edge.pool.feePpm / Number(PPM)
  const slope = price === null ? 0 : ratioOf(price) * kept
  const curve =
    edge.pool.venue.kind === 'v2' && price !== null
      ? pairCurve(slope, kept / Number(price.in))
      : curveOf(slope, given, points.length === given.length)
  return { ...edge, price, points: given, curve, isKnown: outcome === 'answered' }
}

export function ratioOf({ out, in: amount }: Price): number {
  // Both may be beyond the range of whole doubles, but not of doubles.
  return Number(out) / Number(amount)
}

function priceOf({ pool, from }: Edge, [first, second]: PoolAnswer['state']): Price | null {
  const price = pool.venue.kind === 'v2' ? { in: first, out: second } : v3Price(first)
  if (price === null || price.in === 0n || price.out === 0n) return null
  return pool.tokens[0] === from ? price : { in: price.out, out: price.in }
}

function v3Price(word: bigint): Price | null {
  const root = sqrtPriceOfWord(word)
  return root === null ? null : { in: Q192, out: root * root }
}
