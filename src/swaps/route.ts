/**
 * The route of a swap: what a router executes, with the amounts that bind it. It is plain JSON, so that quotes and
 * events store it as it is. Amounts are base units as decimal strings; addresses are EIP-55.
 */
import type { Route } from './events.ts'

/** What goes in and comes out, and the bound of the result, over all legs. Base units. */
export type RouteAmounts = {
  readonly amountIn: bigint
  readonly amountOut: bigint
  /** The minimum of an exact input, or the maximum of an exact output. */
  readonly limit: bigint
}

export function amountsOf(route: Route): RouteAmounts {
  if (route.type === 'hosted')
    return { amountIn: BigInt(route.amountIn), amountOut: BigInt(route.amountOut), limit: BigInt(route.limit) }
  if (route.type !== 'pools') {
    const amount = BigInt(route.amount)
    return { amountIn: amount, amountOut: amount, limit: amount }
  }
  const sum = (field: 'amountIn' | 'amountOut' | 'limit') =>
    route.legs.reduce((total, leg) => total + BigInt(leg[field]), 0n)
  return { amountIn: sum('amountIn'), amountOut: sum('amountOut'), limit: sum('limit') }
}

/** The most that the wallet pays, base units of the asset that it sells. */
export function mostIn(route: Route): bigint {
  const { amountIn, limit } = amountsOf(route)
  return route.type === 'pools' && route.amountType === 'exact_output' ? limit : amountIn
}

/** The contract that the swap calls. */
export function targetOf(route: Route): string {
  if (route.type === 'hosted') return route.guard?.address ?? route.contract
  return route.type === 'pools' ? route.router.address : route.contract
}

/** The contract that takes the sold token from the wallet; `null` when nothing has to be approved. */
export function spenderOf(route: Route): string | null {
  if (route.type === 'hosted') return route.spender === null ? null : (route.guard?.address ?? route.spender)
  return route.type === 'pools' && route.native !== 'in' ? route.router.address : null
}

/** The exchange or the hosted source of a route, for people and metrics; `wrap` or `unwrap` for these. */
export function placeOf(route: Route): string {
  if (route.type === 'hosted') return route.source
  return route.type === 'pools' ? route.venue : route.type
}

/** The wrapped native token of a route that exchanges the native currency; `null` for any other, and for a hosted route. */
export function wrappedOf(route: Route): string | null {
  if (route.type === 'hosted') return null
  if (route.type !== 'pools') return route.contract
  const hops = route.legs[0]?.hops ?? []
  if (route.native === 'in') return hops[0]?.from ?? null
  return route.native === 'out' ? (hops.at(-1)?.to ?? null) : null
}
