/** The value of an amount in exact decimal arithmetic, without floating point. */

/** Decimal places of a price in the table `prices`; more than any feed has. */
const PRICE_DECIMALS = 18
const PRICE = /^(\d+)(?:\.(\d{1,18}))?$/
/** Decimal places of the result. */
const CENTS = 2

/**
 * US dollars with two decimals, rounded half up: `12.35`. A holding below half a cent is `0.00`; without a known price
 * the value is `null`, never zero.
 *
 * @param balance base units, not negative
 * @param decimals of the asset
 * @param price US dollars per whole unit as a decimal string of at most 18 decimals; `null` when unknown
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
