/**
 * The exchanges of one token for another that a quote may use, in the order in which they are asked: the pools of the
 * pair itself, and for each token between, the pools of both hops. Pure.
 */
import { type AskedPool, MAX_POOLS_PER_CALL, type PoolAnswer } from '../chain/pool-reads.ts'
import { PPM, sqrtPriceOfWord } from '../chain/swap-reads.ts'
import { type Curve, curveOf, type Point } from './curve.ts'
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

/** What a pool said. */
export type Told = {
  /** For each answer, the amount that it was asked for; 0 for none. */
  readonly asked: readonly bigint[]
  readonly answer: PoolAnswer
}

/** The best answer for each amount: what the second stage is asked for. 0 where there is none. */
export function bestOf(told: readonly Told[], amounts: readonly bigint[], exactOutput: boolean): readonly bigint[] {
  return amounts.map((amount) =>
    told
      .flatMap(({ asked, answer }) => answer.amounts.filter((given, i) => given !== null && asked[i] === amount))
      .reduce((best: bigint, given) => (given !== null && (best === 0n || given < best === exactOutput) ? given : best), 0n),
  )
}

export function readEdge(edge: Edge, { asked, answer }: Told, exactOutput: boolean): AskedEdge {
  const price = priceOf(edge, answer.state)
  const points = answer.amounts.flatMap((amount, k): Point[] => {
    const fixed = asked[k] ?? 0n
    if (amount === null || fixed === 0n) return []
    return exactOutput ? [{ amountIn: amount, amountOut: fixed }] : [{ amountIn: fixed, amountOut: amount }]
  })
  const slope = price === null ? 0 : (ratioOf(price) * (Number(PPM) - edge.pool.feePpm)) / Number(PPM)
  return { ...edge, price, points, curve: curveOf(slope, points), isKnown: answer.outcome === 'answered' }
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
