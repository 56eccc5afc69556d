/**
 * What a swap loses against the price before it, apart from the fees of the pools. All in exact fractions, and rounded
 * up: a quote never shows a smaller loss than the caller has. Pure.
 */

import { ceilDiv } from './bounds.ts'
import { PPM } from './contracts/exchange-reads.ts'

const BPS = 10_000n

/** Base units of the token that comes out for one that goes in, as a fraction. */
export type Price = { readonly out: bigint; readonly in: bigint }

/** A hop that was quoted: its fee in millionths and the price of its pool before the swap. */
export type PricedHop = { readonly feePpm: number; readonly price: Price }

export type PricedLeg = {
  readonly hops: readonly PricedHop[]
  /** Base units. */
  readonly amountIn: bigint
  readonly amountOut: bigint
}

type Fraction = { readonly numerator: bigint; readonly denominator: bigint }

/**
 * The price impact in hundredths of a percent, without the fees of the pools: 0 when the swap moves no price, and at
 * most 10,000.
 */
export function priceImpactBps(legs: readonly PricedLeg[]): number {
  const ideal = total(legs.map(idealOut))
  const amountOut = legs.reduce((sum, leg) => sum + leg.amountOut, 0n)
  if (ideal.numerator === 0n) return 0
  const lost = ideal.numerator - amountOut * ideal.denominator
  return lost <= 0n ? 0 : Number(ceilDiv(lost * BPS, ideal.numerator))
}

/** The fees of the pools in hundredths of a percent of the amount that goes in. */
export function lpFeeBps(legs: readonly PricedLeg[]): number {
  const amountIn = legs.reduce((sum, leg) => sum + leg.amountIn, 0n)
  const kept = total(legs.map((leg) => afterFees(leg)))
  if (amountIn === 0n) return 0
  return Number(ceilDiv((amountIn * kept.denominator - kept.numerator) * BPS, amountIn * kept.denominator))
}

/** What would come out at the prices before the swap, after the fees of the pools. */
function idealOut(leg: PricedLeg): Fraction {
  return leg.hops.reduce(
    ({ numerator, denominator }, { price }) => ({
      numerator: numerator * price.out,
      denominator: denominator * price.in,
    }),
    afterFees(leg),
  )
}

function afterFees({ hops, amountIn }: PricedLeg): Fraction {
  return hops.reduce(
    ({ numerator, denominator }, { feePpm }) => ({
      numerator: numerator * (PPM - BigInt(feePpm)),
      denominator: denominator * PPM,
    }),
    { numerator: amountIn, denominator: 1n },
  )
}

function total(parts: readonly Fraction[]): Fraction {
  return parts.reduce(
    (sum, part) => ({
      numerator: sum.numerator * part.denominator + part.numerator * sum.denominator,
      denominator: sum.denominator * part.denominator,
    }),
    { numerator: 0n, denominator: 1n },
  )
}
