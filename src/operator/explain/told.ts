/** The parts of a history: facts, each with its source. Pure. */
import { nativeAsset } from '../../core/assets.ts'
import { formatAmount } from '../../core/money.ts'
import type { KnownTransaction } from '../../transactions/state.ts'

/**
 * `recorded`: with the event. `derived`: from the rest of the log at that time. `now`: the current state, where the log
 * has nothing.
 */
export type Source = 'recorded' | 'derived' | 'now'
export type Detail = { readonly name: string; readonly value: string; readonly source: Source }
export type Told = { readonly text: string; readonly details: readonly Detail[] }

export const recorded = (name: string, value: string): Detail => ({ name, value, source: 'recorded' })
export const derived = (name: string, value: string): Detail => ({ name, value, source: 'derived' })
export const fromNow = (name: string, value: string): Detail => ({ name, value, source: 'now' })

/** `1.5 ETH`. @param assetId of an asset that the transaction spends, or of the currency that pays for gas */
export function amountOf({ intent }: KnownTransaction, assetId: string, units: bigint): string {
  const native = nativeAsset(intent.network, intent.chainId)
  const assets = [intent.asset, ...(intent.outflows ?? []).map(({ asset }) => asset)]
  const { decimals, symbol } = assets.find((asset) => asset.assetId === assetId) ?? native
  return `${formatAmount(units, decimals)} ${symbol}`
}
