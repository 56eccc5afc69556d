/**
 * Chooses the route that works: executes the best one in a simulation, and, when it fails there, the best one of another
 * kind of exchange. Tokens that charge a fee for transfers work with V2 exchanges only.
 */
import type { RpcReader } from '../chain/json-rpc.ts'
import type { Asset } from '../core/assets.ts'
import { minimumOut } from './bounds.ts'
import { encodeRoute } from './encode-route.ts'
import type { PoolRoute, Route, SwapTerms } from './events.ts'
import type { FoundRoute, FoundRoutes } from './find-route.ts'
import { priceImpactBps } from './impact.ts'
import { impactTooHigh, unusualToken } from './refusals.ts'
import { type RehearsalOutcome, rehearseSwap } from './rehearse-swap.ts'
import { amountsOf, mostIn, spenderOf } from './route.ts'

export type SwapToTry = {
  readonly wallet: string
  readonly from: Asset
  readonly to: Asset
  readonly terms: SwapTerms
  /** Tokens of the wallet that a hosted route must not move. */
  readonly others: readonly string[]
}

export type TriedRoute = { readonly found: FoundRoute; readonly outcome: RehearsalOutcome }

/** Far enough for any simulation: the deadline of the swap itself begins when it is accepted. */
const NO_DEADLINE = 2 ** 40

/**
 * @returns the first route that succeeded, with what the wallet received as its amount; otherwise the best route and
 *   why it failed
 * @throws ValidationFailed `unusual_token`, `price_impact_too_high`
 */
export async function tryRoutes(
  client: RpcReader,
  swap: Omit<SwapToTry, 'others'>,
  found: FoundRoutes,
): Promise<TriedRoute> {
  const [best, ...others] = found.routes
  const another = others.find(({ route }) => kindOf(route) !== kindOf(best.route))
  const outcome = await rehearseRoute(client, swap, found, best.route)
  const settled = settle(swap, best, outcome)
  if (settled !== null) return { found: settled, outcome }
  if (another !== undefined) {
    const second = await rehearseRoute(client, swap, found, another.route)
    const settledSecond = second.type === 'swapped' ? settle(swap, another, second) : null
    if (settledSecond !== null) return { found: settledSecond, outcome: second }
  }
  if (outcome.type === 'swapped') throw unusualToken(swap)
  return { found: best, outcome }
}

/** The allowance that a route finds, and what it must be. `null` when the route needs none. */
export function allowanceFor(route: Route, allowances: FoundRoutes['allowances']) {
  const spender = spenderOf(route)
  return spender === null ? null : { spender, actual: allowances.get(spender) ?? 0n, needed: mostIn(route) }
}

function kindOf(route: Route): string {
  return route.type === 'pools' ? route.router.kind : route.type
}

/** Of an exact input, without its minimum, and with an approval where one is needed. */
export function rehearseRoute(
  client: RpcReader,
  { wallet, from, to, others }: Omit<SwapToTry, 'others'> & Partial<SwapToTry>,
  { block, allowances }: FoundRoutes,
  route: Route,
): Promise<RehearsalOutcome> {
  const allowance = allowanceFor(route, allowances)
  const approves = allowance !== null && allowance.actual < allowance.needed && from.contract !== null
  return rehearseSwap(client, {
    wallet,
    from,
    to,
    call: encodeRoute(withoutMinimum(route), { wallet, deadline: NO_DEADLINE }),
    approval: approves ? { token: from.contract, spender: allowance.spender, amount: allowance.needed } : null,
    hasAllowance: allowance !== null && allowance.actual > 0n,
    blockHash: block.hash,
    ...(others === undefined ? {} : { others }),
  })
}

/** An exact input that accepts any result, so that its simulation shows the result in place of a refusal. */
function withoutMinimum(route: Route): Route {
  if (route.type === 'hosted') return { ...route, limit: '1' }
  if (route.type !== 'pools' || route.amountType === 'exact_output') return route
  return { ...route, legs: route.legs.map((leg) => ({ ...leg, limit: '1' })) }
}

/** The route with the amount that the wallet received; `null` when it did not work, or moved what it may not move. */
function settle(swap: Omit<SwapToTry, 'others'>, found: FoundRoute, outcome: RehearsalOutcome): FoundRoute | null {
  if (outcome.type === 'reverted') return null
  if (outcome.type === 'unknown') return found
  const { route } = found
  const { amountOut } = amountsOf(route)
  const { paid, received } = outcome
  if (paid > mostIn(route)) return null
  if (received === amountOut) return found
  const [leg] = found.legs
  const isLess = received > 0n && received < amountOut
  if (!isLess || leg === undefined || route.type !== 'pools' || kindOf(route) !== 'v2') return null
  if (route.amountType === 'exact_output') return null
  const less = { ...found, legs: [{ ...leg, amountOut: received }], route: withResult(route, received, swap.terms) }
  const impact = priceImpactBps(less.legs)
  const { maxPriceImpactBps } = swap.terms
  if (impact > maxPriceImpactBps)
    throw impactTooHigh(swap, amountsOf(less.route), { priceImpactBps: impact, maxPriceImpactBps })
  return { ...less, priceImpactBps: impact }
}

/** A route of one leg with another result, and its minimum. */
function withResult(route: PoolRoute, received: bigint, { slippageBps }: SwapTerms): PoolRoute {
  const limit = minimumOut(received, slippageBps).toString()
  return { ...route, legs: route.legs.map((leg) => ({ ...leg, amountOut: received.toString(), limit })) }
}
