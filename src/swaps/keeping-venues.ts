/**
 * The exchanges whose routers keep the minimum of a swap on chain, whatever the bought token does after the swap was
 * accepted. V2 routers compare what the wallet received. V3 routers, and an exact output everywhere, compare only what
 * the pool says that it sent: that is the same for a token which moves exactly what it is told to. Pure.
 */
import type { Asset } from '../core/assets.ts'
import { ValidationFailed } from '../core/errors.ts'
import type { AmountType } from './events.ts'
import type { Market } from './market.ts'
import { unlistedToken } from './refusals.ts'

export type BoughtToken = {
  readonly from: Asset
  readonly to: Asset
  readonly amountType: AmountType
  /** Whether its code is known to move exactly what it is told to. */
  readonly isExact: boolean
}

/** The contract whose transfers the minimum depends on; `null` for the native currency and its wrapped token, which are
 * as trusted as the router that wraps them. */
export function tokenToCheck({ wrapped }: Pick<Market, 'wrapped'>, { contract }: Asset): string | null {
  return contract === null || contract === wrapped ? null : contract
}

/** @throws ValidationFailed `unlisted_token` where no exchange keeps the minimum */
export function keepingMarket(market: Market, bought: BoughtToken): Market {
  if (bought.isExact) return market
  const venues = bought.amountType === 'exact_output' ? [] : market.venues.filter(({ kind }) => kind === 'v2')
  if (venues.length === 0) throw unlistedToken(bought)
  return { ...market, venues }
}

/** Why there is no route, where some exchanges were left out. */
export function withoutOthers(error: unknown, bought: BoughtToken): unknown {
  const isNone = error instanceof ValidationFailed && error.items.some(({ code }) => code === 'no_route')
  return isNone && !bought.isExact ? unlistedToken(bought) : error
}
