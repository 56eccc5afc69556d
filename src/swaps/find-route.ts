/**
 * The routes of a swap at one block, best first: those through pools, as every exchange quotes them, or the wrap of the
 * native currency, which needs no exchange.
 */
import { type BlockRef, readHead } from '../chain/blocks.ts'
import type { Asset } from '../core/assets.ts'
import { askVenues, type Venues } from './ask-venues.ts'
import type { Candidate } from './candidates.ts'
import { type Choice, optionsOf } from './choose.ts'
import { ratioOf } from './edges.ts'
import type { Route, SwapTerms } from './events.ts'
import { type Feeds, fairPrice } from './feeds.ts'
import { SWAP_GAS } from './gas-rules.ts'
import { lpFeeBps, type Price, type PricedLeg } from './impact.ts'
import { impactTooHigh, insufficientLiquidity, noRoute, poolsUnanswered } from './refusals.ts'
import { amountsOf } from './route.ts'

export type RouteRequest = {
  readonly from: Asset
  readonly to: Asset
  /** Base units of the fixed amount. */
  readonly amount: bigint
  readonly terms: SwapTerms
  readonly wallet: string
  /** Wei per gas that the swap is expected to pay. */
  readonly gasPrice: bigint
  readonly feeds: Feeds
}

/** A route with its figures. */
export type FoundRoute = {
  readonly route: Route
  /** What was quoted; none for a wrap. */
  readonly legs: readonly PricedLeg[]
  /** Expected gas of the transaction. */
  readonly gas: bigint
  readonly priceImpactBps: number
  readonly lpFeeBps: number
}

export type FoundRoutes = {
  readonly block: BlockRef
  /** Best first, at least one; all within the bound of the price impact. */
  readonly routes: readonly [FoundRoute, ...FoundRoute[]]
  /** What each router may take of the sold token, base units. */
  readonly allowances: ReadonlyMap<string, bigint>
  /** What one wei is worth in the asset whose amount is not fixed, by the feeds; `null` without a feed of both. */
  readonly gasValue: Price | null
  /** The most that any path of pools gives for one base unit, if only a part of the amount takes it; 0 without pools. */
  readonly bestRate: number
  /** Whether every pool answered. */
  readonly isComplete: boolean
}

/**
 * @throws ValidationFailed `no_route`, `insufficient_liquidity` or `price_impact_too_high`; Unavailable when no node
 *   answered
 */
export async function findRoutes(venues: Venues, request: RouteRequest): Promise<FoundRoutes> {
  const { wrapped, rules } = venues.market
  const { from, to, amount } = request
  if ((from.contract ?? wrapped) !== (to.contract ?? wrapped)) return findPools(venues, request)
  const type = from.contract === null ? 'wrap' : 'unwrap'
  const route: Route = { type, contract: wrapped, amount: amount.toString() }
  const block = await readHead(venues.client)
  return {
    block,
    allowances: new Map(),
    gasValue: null,
    bestRate: 0,
    isComplete: true,
    routes: [{ route, legs: [], gas: SWAP_GAS[rules.set][type], priceImpactBps: 0, lpFeeBps: 0 }],
  }
}

async function findPools(venues: Venues, request: RouteRequest): Promise<FoundRoutes> {
  const { wrapped, rules } = venues.market
  const { from, to, amount, terms, wallet, gasPrice } = request
  const { amountType, slippageBps, maxPriceImpactBps } = terms
  const pair = [from.contract ?? wrapped, to.contract ?? wrapped] as const
  const owner = from.contract === null ? null : wallet
  // No pool says what gas costs: anybody can make one with any price.
  const gasValue = fairPrice(request.feeds, wrapped, amountType === 'exact_input' ? pair[1] : pair[0])
  const costOf = gasValue && legCost(rules, gasPrice, gasValue)
  const answers = await askVenues(venues, { pair, amountType, amount, owner, costOf })
  const { block, allowances, bestRate, isComplete } = answers
  const options = optionsOf(answers.routes, {
    amountType,
    amount,
    slippageBps,
    native: from.contract === null ? 'in' : to.contract === null ? 'out' : null,
    gasPrice,
    gasValue,
    rules,
  })
  const [best] = options
  if (best === undefined) throw isComplete ? refusalOf(request, answers.hasPath) : poolsUnanswered(request)
  const [first, ...others] = options
    .filter((option) => option.priceImpactBps <= maxPriceImpactBps)
    .map((option) => ({ ...option, lpFeeBps: lpFeeBps(option.legs) }))
  if (first === undefined)
    throw impactTooHigh(request, amountsOf(best.route), { priceImpactBps: best.priceImpactBps, maxPriceImpactBps })
  return { block, allowances, gasValue, bestRate, isComplete, routes: [first, ...others] }
}

function refusalOf(request: RouteRequest, hasPath: boolean) {
  return hasPath ? insufficientLiquidity(request) : noRoute(request)
}

/** What one more path of a route usually costs in gas. */
function legCost({ set }: Choice['rules'], gasPrice: bigint, gasValue: Price) {
  return ({ venue, hops }: Candidate): number =>
    Number(SWAP_GAS[set].swap[venue.kind].hop) * hops.length * Number(gasPrice) * ratioOf(gasValue)
}
