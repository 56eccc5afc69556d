/** What a transfer was worth when it was observed, and what its owner is notified of. Pure. */
import { usdValue } from '../core/usd-value.ts'
import type { Notifications, WalletType } from '../wallets/events.ts'
import type { WalletStatus } from '../wallets/state.ts'
import type { Direction, Notice, Valuation } from './events.ts'

/** US dollars for one whole unit as a decimal string, and when the feed updated it. */
export type Price = { readonly usd: string; readonly at: string }

/** @param amount base units */
export function valuationOf(amount: bigint, decimals: number, price: Price | undefined): Valuation | null {
  const usd = usdValue(amount, decimals, price?.usd ?? null)
  return usd === null || price === undefined ? null : { usd, price: price.usd, priceAt: price.at }
}

/** Thresholds have at most as many digits behind the point: `schemas.ts` of wallets limits their length. */
const USD_DECIMALS = 30

type NotifiedWallet = {
  readonly type: WalletType
  readonly status: WalletStatus
  readonly notifications: Notifications | null
  readonly isUnopened: boolean
}

/** A transfer without a valuation is never large. An archived watch wallet notifies of nothing. */
export function noticesOf(
  { type, status, notifications, isUnopened }: NotifiedWallet,
  direction: Direction,
  valuation: Valuation | null,
): Notice[] {
  if (type !== 'watch' && direction === 'out') return []
  if (type !== 'watch') return isUnopened ? ['deposit', 'unopened'] : ['deposit']
  if (status !== 'active' || notifications === null) return []
  const notices: Notice[] = []
  if (notifications.incomingTransactions && direction === 'in') notices.push('incoming')
  if (notifications.largeTransfers && isAtLeast(valuation, notifications.largeTransferThresholdUsd))
    notices.push('large_transfer')
  return notices
}

function isAtLeast(valuation: Valuation | null, thresholdUsd: string): boolean {
  return valuation !== null && units(valuation.usd) >= units(thresholdUsd)
}

function units(usd: string): bigint {
  const [whole = '0', fraction = ''] = usd.split('.')
  return BigInt(whole + fraction.padEnd(USD_DECIMALS, '0'))
}
