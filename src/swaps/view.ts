/** A quote in the form of the API. */
import { formatAmount } from '../core/money.ts'
import { NATIVE_DECIMALS, NATIVE_SYMBOL } from '../core/networks.ts'
import type { View } from '../http/view.ts'
import { ceilDiv } from './bounds.ts'
import type { Leg, Route } from './events.ts'
import { gasReserve, type SwapIssues, type SwapQuote } from './quote.ts'
import { amountsOf, targetOf } from './route.ts'
import type { quoteSchema } from './schemas.ts'

export type QuoteView = View<typeof quoteSchema>

/** Hundredths of a percent in a millionth, and shares. */
const PPM_PER_BPS = 100
const BPS = 10_000n
/** Decimals of the price. */
const PRICE_DECIMALS = 18

export function toView(quote: SwapQuote): QuoteView {
  const { fromAsset: from, toAsset: to, terms, route } = quote
  const { amountIn, amountOut, limit } = amountsOf(route)
  const isInput = terms.amountType === 'exact_input'
  return {
    quote_id: quote.quoteId,
    wallet_id: quote.walletId,
    from_asset: from.symbol,
    to_asset: to.symbol,
    amount_type: terms.amountType,
    from_amount: formatAmount(amountIn, from.decimals),
    to_amount: formatAmount(amountOut, to.decimals),
    min_to_amount: isInput ? formatAmount(limit, to.decimals) : null,
    max_from_amount: isInput ? null : formatAmount(limit, from.decimals),
    price: priceOf(amountIn, from.decimals, amountOut, to.decimals),
    slippage_bps: terms.slippageBps,
    max_price_impact_bps: terms.maxPriceImpactBps,
    deadline_seconds: terms.deadlineSeconds,
    price_impact_bps: quote.priceImpactBps,
    lp_fee_bps: quote.lpFeeBps,
    value_difference_bps: quote.valueDifferenceBps,
    route: legsOf(route),
    fee: feeOf(quote),
    approval: {
      needed: quote.approval.needed,
      spender: quote.approval.spender,
      amount: formatAmount(BigInt(quote.approval.amount), from.decimals),
      reset_first: quote.approval.resetFirst,
    },
    issues: issuesOf(quote.issues, from.decimals),
    block_number: quote.block.number,
    expires_at: quote.expiresAt,
  }
}

/** Whole units of one asset for a whole unit of the other, rounded down. */
function priceOf(amountIn: bigint, fromDecimals: number, amountOut: bigint, toDecimals: number): string {
  const numerator = amountOut * 10n ** BigInt(PRICE_DECIMALS + fromDecimals)
  return formatAmount(numerator / (amountIn * 10n ** BigInt(toDecimals)), PRICE_DECIMALS)
}

function legsOf(route: Route): QuoteView['route'] {
  if (route.type !== 'pools') {
    const contract = targetOf(route)
    const protocol = route.type === 'hosted' ? route.source : route.type
    return [{ venue: null, protocol, contract, pool: null, fee_bps: 0, share_bps: Number(BPS), hops: [] }]
  }
  const shares = sharesOf(route.legs)
  return route.legs.map((leg, i) => ({
    venue: route.venue,
    protocol: leg.kind,
    contract: route.router.address,
    pool: leg.hops.length === 1 ? (leg.hops[0]?.pool ?? null) : null,
    fee_bps: feeBpsOf(leg),
    share_bps: shares[i] ?? 0,
    hops: leg.hops.map(({ from, to, pool, feePpm }) => ({ from, to, pool, fee_bps: feePpm / PPM_PER_BPS })),
  }))
}

/** Shares of what goes in; the last one is the rest, so that they add up to the whole. */
function sharesOf(legs: readonly Leg[]): readonly number[] {
  const total = legs.reduce((sum, { amountIn }) => sum + BigInt(amountIn), 0n)
  const first = legs.slice(0, -1).map(({ amountIn }) => Number((BigInt(amountIn) * BPS) / total))
  return [...first, Number(BPS) - first.reduce((sum, share) => sum + share, 0)]
}

function feeBpsOf({ hops }: Leg): number {
  const ppm = 1_000_000n
  const kept = hops.reduce((rest, { feePpm }) => rest * (ppm - BigInt(feePpm)), 1n)
  const whole = ppm ** BigInt(hops.length)
  return Number(ceilDiv((whole - kept) * BPS, whole))
}

function feeOf({ network, gas, gasPrice }: SwapQuote): QuoteView['fee'] {
  const [approval, swap] = [BigInt(gas.approval), BigInt(gas.swap)]
  const native = (wei: bigint) => formatAmount(wei, NATIVE_DECIMALS)
  return {
    currency: NATIVE_SYMBOL[network],
    approval: native(approval * BigInt(gasPrice.expected)),
    swap: native(swap * BigInt(gasPrice.expected)),
    max: native((gasReserve(approval) + gasReserve(swap)) * BigInt(gasPrice.max)),
  }
}

function issuesOf(
  { allowance, balance, simulation, priceImpact, price }: SwapIssues,
  decimals: number,
): QuoteView['issues'] {
  return {
    allowance: allowance && {
      spender: allowance.spender,
      actual: formatAmount(BigInt(allowance.actual), decimals),
      needed: formatAmount(BigInt(allowance.needed), decimals),
    },
    balance: balance && {
      asset: balance.symbol,
      actual: formatAmount(BigInt(balance.actual), balance.decimals),
      needed: formatAmount(BigInt(balance.needed), balance.decimals),
    },
    simulation,
    price_impact: priceImpact && { price_impact_bps: priceImpact.priceImpactBps },
    price: price && { code: price.code, difference_bps: price.differenceBps, reason: price.reason },
  }
}
