/** The best of the quoted routes: most out, or least in, net of gas. Pure. */
import type { GasRules } from '../chain/forks.ts'
import { ceilDiv, limitOf } from './bounds.ts'
import type { AmountType, PoolRoute } from './events.ts'
import { SWAP_GAS } from './gas-rules.ts'
import { type Price, priceImpactBps } from './impact.ts'
import type { Venue } from './market.ts'
import type { QuotedPath } from './quote-paths.ts'
import { amountsOf } from './route.ts'

/** A route with what it costs and loses. */
export type Option = {
  readonly route: PoolRoute
  readonly legs: readonly QuotedPath[]
  /** Expected gas of the transaction. */
  readonly gas: bigint
  readonly priceImpactBps: number
}

export type Choice = {
  readonly amountType: AmountType
  /** Base units of the fixed amount. */
  readonly amount: bigint
  readonly slippageBps: number
  readonly native: 'in' | 'out' | null
  /** Wei per gas that the transaction is expected to pay. */
  readonly gasPrice: bigint
  /** The other asset for one wei; `null` when unknown: then gas only decides between equal amounts. */
  readonly gasValue: Price | null
  readonly rules: GasRules
}

/** A route whose paths were quoted. */
export type QuotedRoute = {
  /** The exchange whose router swaps on all of them. */
  readonly router: Venue
  readonly legs: readonly QuotedPath[]
}

/** Every route, best first. */
export function optionsOf(routes: readonly QuotedRoute[], choice: Choice): readonly Option[] {
  return routes.map((route) => optionOf(route, choice)).sort((a, b) => compare(a, b, choice))
}

function optionOf({ router: venue, legs }: QuotedRoute, choice: Choice): Option {
  const { amountType, slippageBps, native } = choice
  const route: PoolRoute = {
    type: 'pools',
    venue: venue.name,
    router: { kind: venue.kind, address: venue.router },
    amountType,
    native,
    legs: legs.map((leg) => ({
      kind: leg.venue.kind,
      hops: leg.hops.map(({ from, to, pool, feePpm }) => ({ from, to, pool, feePpm })),
      amountIn: leg.amountIn.toString(),
      amountOut: leg.amountOut.toString(),
      limit: limitOf(amountType, leg, slippageBps).toString(),
    })),
  }
  return { route, legs, gas: gasOf(venue, legs, choice), priceImpactBps: priceImpactBps(legs) }
}

function gasOf({ kind }: Venue, legs: readonly QuotedPath[], { native, rules }: Choice): bigint {
  const { swap, swapUnwrap } = SWAP_GAS[rules.set]
  const { base } = swap[kind]
  const inPools = legs.map(({ venue, hops, quotedGas }) => {
    const usual = BigInt(hops.length) * swap[venue.kind].hop
    return quotedGas !== null && quotedGas > usual ? quotedGas : usual
  })
  return base + inPools.reduce((sum, gas) => sum + gas, 0n) + (native === 'out' ? swapUnwrap : 0n)
}

function compare(a: Option, b: Option, choice: Choice): number {
  const [first, second] = [netLoss(a, choice), netLoss(b, choice)]
  if (first !== second) return first < second ? -1 : 1
  return a.gas < b.gas ? -1 : a.gas > b.gas ? 1 : 0
}

/** Lower is better: what goes in, or what comes out as a negative number, with the gas added in the same asset. */
function netLoss({ route, gas }: Option, { amountType, gasPrice, gasValue }: Choice): bigint {
  const { amountIn, amountOut } = amountsOf(route)
  return (amountType === 'exact_input' ? -amountOut : amountIn) + costOfGas(gas, { gasPrice, gasValue })
}

/** Gas in base units of the asset that `gasValue` is in, rounded up; 0 without a price. */
export function costOfGas(gas: bigint, { gasPrice, gasValue }: Pick<Choice, 'gasPrice' | 'gasValue'>): bigint {
  return gasValue === null ? 0n : ceilDiv(gas * gasPrice * gasValue.out, gasValue.in)
}
