/** What an amount is worth, in exact decimal arithmetic: no floating point touches it. */

/** Decimal places of a price as the table `prices` keeps it, and more than any feed has. */
const PRICE_DECIMALS = 18
const PRICE = /^(\d+)(?:\.(\d{1,18}))?$/
/** Money is told in cents. */
const CENTS = 2

/**
 * US dollars with two decimals, rounded half up: `12.35`. A holding too small to show is `0.00`; a holding whose price
 * is not known has no value to tell, which is `null` and never a zero.
 *
 * @param balance base units, not negative
 * @param decimals of the asset
 * @param price US dollars for one whole unit as a decimal string of at most 18 decimals; `null` when none is known
 */
export function usdValue(balance: bigint, decimals: number, price: string | null): string | null {
  const [, whole, fraction = ''] = PRICE.exec(price ?? '') ?? []
  if (whole === undefined) return null
  const priceUnits = BigInt(whole + fraction.padEnd(PRICE_DECIMALS, '0'))
  const numerator = balance * priceUnits * 10n ** BigInt(CENTS)
  const denominator = 10n ** BigInt(decimals + PRICE_DECIMALS)
  const cents = ((2n * numerator + denominator) / (2n * denominator)).toString().padStart(CENTS + 1, '0')
  return `${cents.slice(0, -CENTS)}.${cents.slice(-CENTS)}`
}
