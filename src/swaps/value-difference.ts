/** What a swap loses at the prices of the feeds, which no pool can change. Pure. */
import type { Asset } from '../core/assets.ts'

const BPS = 10_000n
const PRICE = /^(\d+)(?:\.(\d+))?$/

type Valued = {
  readonly from: Asset
  readonly to: Asset
  /** Base units. */
  readonly amountIn: bigint
  readonly amountOut: bigint
  /** US dollars for a whole unit of each asset, as decimal strings; `null` when unknown. */
  readonly prices: readonly (string | null)[]
}

/**
 * Hundredths of a percent of the value that goes in, rounded up: negative for a gain. `null` without both prices.
 */
export function valueDifferenceBps({ from, to, amountIn, amountOut, prices }: Valued): number | null {
  const [price, otherPrice] = [readPrice(prices[0]), readPrice(prices[1])]
  if (price === null || otherPrice === null) return null
  // Both values as whole numbers of the same unit.
  const before = amountIn * price.units * 10n ** BigInt(to.decimals + otherPrice.decimals)
  const after = amountOut * otherPrice.units * 10n ** BigInt(from.decimals + price.decimals)
  if (before === 0n) return null
  const lost = (before - after) * BPS
  // Division of bigints cuts towards 0, which is up for a negative number.
  return Number(lost > 0n ? (lost + before - 1n) / before : lost / before)
}

export function readPrice(
  text: string | null | undefined,
): { readonly units: bigint; readonly decimals: number } | null {
  const [, whole, fraction = ''] = PRICE.exec(text ?? '') ?? []
  if (whole === undefined) return null
  const units = BigInt(whole + fraction)
  return units === 0n ? null : { units, decimals: fraction.length }
}
