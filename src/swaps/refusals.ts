/** Why no quote is given. Each error names the field, the rule and what to do. */
import type { Asset } from '../core/assets.ts'
import { Unavailable, ValidationFailed } from '../core/errors.ts'
import { formatAmount, parseAmount } from '../core/money.ts'
import type { ChainKey } from '../core/networks.ts'
import type { AmountType } from './events.ts'
import type { SwapQuote } from './quote.ts'
import type { RouteAmounts } from './route.ts'

/** Uniswap V3 takes no larger amounts, and no token has so much of it. */
const MAX_AMOUNT = (1n << 128n) - 1n

export type Assets = { readonly from: Asset; readonly to: Asset }

/** @throws ValidationFailed `same_asset` */
export function requireTwoAssets({ from, to }: Assets): void {
  if (from.assetId !== to.assetId) return
  throw ValidationFailed.field(
    'to_asset',
    'same_asset',
    `from_asset and to_asset are both ${from.symbol}: name two different assets.`,
  )
}

/**
 * The fixed amount in base units. @throws ValidationFailed `invalid_amount`, `too_many_decimals`, `amount_zero` or
 * `amount_too_large`
 */
export function readAmount(text: string, amountType: AmountType, { from, to }: Assets): bigint {
  const { decimals } = amountType === 'exact_input' ? from : to
  const amount = parseAmount(text, decimals)
  if (amount === 0n) throw ValidationFailed.field('amount', 'amount_zero', 'amount must be greater than 0.')
  if (amount <= MAX_AMOUNT) return amount
  throw ValidationFailed.field(
    'amount',
    'amount_too_large',
    `amount is larger than the maximum of a swap, ${formatAmount(MAX_AMOUNT, decimals)}: swap a smaller amount.`,
  )
}

/** @throws ValidationFailed `too_large` */
export function requireSlippage(slippageBps: number, maxBps: number): void {
  if (slippageBps <= maxBps) return
  throw ValidationFailed.field(
    'slippage_bps',
    'too_large',
    `slippage_bps must be at most ${maxBps}, the limit of this installation (SWAP_MAX_SLIPPAGE_BPS).`,
    { max_slippage_bps: maxBps },
  )
}

/** The native currency and its wrapped token are exchanged one to one. @throws ValidationFailed `no_price_feed` */
export function requireFeeds({ from, to }: Assets, wrapped: string, prices: readonly (string | null)[]): void {
  if ((from.contract ?? wrapped) === (to.contract ?? wrapped)) return
  const place = prices.indexOf(null)
  if (place === -1) return
  throw ValidationFailed.field(
    place === 0 ? 'from_asset' : 'to_asset',
    'no_price_feed',
    `${(place === 0 ? from : to).symbol} has no price feed, so no price of a pool can be checked. This installation refuses such swaps ` +
      '(SWAP_REQUIRE_FEEDS): use other assets, or ask the operator to set a feed.',
  )
}

export function notConfigured({ network, environment }: ChainKey): ValidationFailed {
  const prefix = `${network.toUpperCase()}${environment === 'testnet' ? '_TESTNET' : ''}`
  return ValidationFailed.field(
    'wallet_id',
    'swap_not_configured',
    `Swaps are not configured on ${network} (${environment}): ask the operator to set ${prefix}_SWAP_VENUES.`,
  )
}

export function noRoute({ from, to }: Assets): ValidationFailed {
  return ValidationFailed.field(
    'to_asset',
    'no_route',
    `No configured exchange has a pool for ${from.symbol} to ${to.symbol}, directly or over one other token: use other assets.`,
  )
}

export function insufficientLiquidity({ from, to }: Assets): ValidationFailed {
  return ValidationFailed.field(
    'amount',
    'insufficient_liquidity',
    `The pools for ${from.symbol} to ${to.symbol} cannot exchange the whole amount: swap a smaller amount.`,
  )
}

/** Not every pool has said that it cannot exchange the amount. */
export function poolsUnanswered({ from, to }: Assets): Unavailable {
  return new Unavailable(
    'swap_pools_unanswered',
    `No pool for ${from.symbol} to ${to.symbol} gave a quote, and some could not be asked: they use more gas than a node or a ` +
      'transaction allows. Try again later, or swap a smaller amount.',
  )
}

export function impactTooHigh(
  { from, to }: Assets,
  { amountIn, amountOut }: Pick<RouteAmounts, 'amountIn' | 'amountOut'>,
  { priceImpactBps, maxPriceImpactBps }: { readonly priceImpactBps: number; readonly maxPriceImpactBps: number },
): ValidationFailed {
  const [paid, received] = [formatAmount(amountIn, from.decimals), formatAmount(amountOut, to.decimals)]
  return ValidationFailed.field(
    'amount',
    'price_impact_too_high',
    `The swap of ${paid} ${from.symbol} for ${received} ${to.symbol} has a price impact of ${priceImpactBps} bps, above ` +
      `max_price_impact_bps of ${maxPriceImpactBps}: swap a smaller amount, or allow a higher impact.`,
    {
      price_impact_bps: priceImpactBps,
      max_price_impact_bps: maxPriceImpactBps,
      from_amount: paid,
      to_amount: received,
    },
  )
}

export function unusualToken({ from, to }: Assets): ValidationFailed {
  return ValidationFailed.field(
    'amount',
    'unusual_token',
    `The swap of ${from.symbol} for ${to.symbol} would move other amounts than its pools compute: one of the tokens charges a ` +
      'fee for transfers, or changes balances. Such a token can only be swapped with amount_type exact_input, through a V2 exchange.',
  )
}

/** Of a token that no exchange can buy with a minimum that holds whatever the token does later. */
export function unlistedToken({ from, to }: Assets): ValidationFailed {
  return ValidationFailed.field(
    'to_asset',
    'unlisted_token',
    `The contract of ${to.symbol} is not on the list of those that never charge a fee for transfers, so only a V2 exchange with ` +
      `amount_type exact_input can make sure that the minimum arrives, and none has a route for ${from.symbol} to ${to.symbol}: ` +
      'use exact_input, or buy another asset.',
  )
}

/** Of a swap that fails in a simulation at the prices of now. @param reason as the exchange or the token gave it */
export function swapReverts(
  { fromAsset: { symbol: from }, toAsset: { symbol: to } }: Pick<SwapQuote, 'fromAsset' | 'toAsset'>,
  reason: string,
): ValidationFailed {
  return ValidationFailed.field(
    'from_asset',
    'swap_reverts',
    `The swap of ${from} for ${to} would revert now, also with a fresh quote (${reason}): one of the tokens may be paused, ` +
      'or refuse the wallet or the exchange. Use other assets, or try again later.',
    { reason },
  )
}
