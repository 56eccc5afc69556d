/**
 * The route of a swap: what a router executes, with the amounts that bind it. It is plain JSON, so that quotes and
 * events store it as it is. Amounts are base units as decimal strings; addresses are EIP-55.
 */

export const AMOUNT_TYPES = ['exact_input', 'exact_output'] as const
/** Which of the two amounts is fixed; the other one is the result of the swap. */
export type AmountType = (typeof AMOUNT_TYPES)[number]

/** Uniswap V2 and V3, and exchanges with the same contracts. */
export type PoolKind = 'v2' | 'v3'

/** One exchange in one pool. Tokens are contracts: the wrapped token stands for the native currency. */
export type Hop = {
  readonly from: string
  readonly to: string
  readonly pool: string
  /** What the pool keeps of the amount that comes in, in millionths. */
  readonly feePpm: number
}

/** One path through pools of one kind. A split route has several legs, which share no pool. */
export type Leg = {
  readonly kind: PoolKind
  readonly hops: readonly Hop[]
  readonly amountIn: string
  readonly amountOut: string
  /** The least that comes out of an exact input, or the most that goes into an exact output. */
  readonly limit: string
}

/** A route through pools: one transaction of one router. */
export type PoolRoute = {
  readonly type: 'pools'
  /** The name of the exchange in the settings. */
  readonly venue: string
  /** `v2`: a V2 router. `v3`: SwapRouter02, which only takes V3 legs here. It is also the spender of the allowance. */
  readonly router: { readonly kind: PoolKind; readonly address: string }
  readonly amountType: AmountType
  /** Which end of the swap is the native currency: the router wraps or unwraps it. */
  readonly native: 'in' | 'out' | null
  readonly legs: readonly Leg[]
}

/** The native currency to its wrapped token or back, one to one, by the token's own contract. */
export type WrapRoute = { readonly type: 'wrap' | 'unwrap'; readonly contract: string; readonly amount: string }

export type Route = PoolRoute | WrapRoute

/** What goes in and comes out, and the bound of the result, over all legs. Base units. */
export type RouteAmounts = {
  readonly amountIn: bigint
  readonly amountOut: bigint
  /** The minimum of an exact input, or the maximum of an exact output. */
  readonly limit: bigint
}

export function amountsOf(route: Route): RouteAmounts {
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

/** The contract that takes the sold token from the wallet; `null` when nothing has to be approved. */
export function spenderOf(route: Route): string | null {
  return route.type === 'pools' && route.native !== 'in' ? route.router.address : null
}
