/**
 * The contract call of a route. Pure: the same route, wallet and deadline always give the same bytes, so that a quote,
 * its rehearsal and the recorded transaction agree.
 */
import { encodeGuardedSwap } from './contracts/guard.ts'
import {
  type ContractCallData,
  encodeRouter02Swap,
  encodeUnwrap,
  encodeV2Swap,
  encodeWrap,
  type RouterLeg,
} from './contracts/router.ts'
import type { HostedRoute, Leg, Route } from './events.ts'

export type RouteTerms = {
  /** The wallet that pays and receives. */
  readonly wallet: string
  /** Seconds since the epoch; wraps and unwraps have no deadline. */
  readonly deadline: number
}

/** @throws Error for a route that nothing can execute: a V2 route with several legs, an amount of 0, a hosted route without a guard */
export function encodeRoute(route: Route, { wallet, deadline }: RouteTerms): ContractCallData {
  if (route.type === 'hosted') return encodeHosted(route, deadline)
  if (route.type !== 'pools') {
    const encode = route.type === 'wrap' ? encodeWrap : encodeUnwrap
    return encode(route.contract, BigInt(route.amount))
  }
  const { router, amountType, native, legs } = route
  const exactOutput = amountType === 'exact_output'
  const swap = { router: router.address, exactOutput, native, wallet, deadline }
  if (router.kind === 'v3') return encodeRouter02Swap(swap, legs.map(legOf))
  const [leg, other] = legs
  if (leg === undefined || other !== undefined) throw new Error('a V2 router swaps exactly one leg')
  return encodeV2Swap(swap, legOf(leg))
}

/** The guard pays and measures whoever calls it: the wallet is no part of the call. */
function encodeHosted(route: HostedRoute, deadline: number): ContractCallData {
  const { guard, contract: target, spender, data } = route
  if (guard === undefined) throw new Error('a hosted route needs a guard')
  const { sold, bought } = guard
  const [amount, minimum] = [BigInt(route.amountIn), BigInt(route.limit)]
  return encodeGuardedSwap({ sold, bought, amount, minimum, deadline, target, spender, data })
}

function legOf({ kind, hops, amountIn, amountOut, limit }: Leg): RouterLeg {
  return { kind, hops, amountIn: BigInt(amountIn), amountOut: BigInt(amountOut), limit: BigInt(limit) }
}
