/**
 * Amounts: bigint base units inside (wei for 18 decimals), decimal strings at the API. Amounts are never rounded and
 * never converted with `Number()`.
 */
import { ValidationFailed } from './errors.ts'

/** An amount in JSON: no sign, no exponent, no leading zeros, digits after a point. */
export const AMOUNT_PATTERN = '^(0|[1-9]\\d*)(\\.\\d+)?$'
const AMOUNT = new RegExp(AMOUNT_PATTERN)

/** 2^256 - 1, the largest amount that a contract can hold. */
export const MAX_UINT256 = (1n << 256n) - 1n

export function largest(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

export function smallest(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

/** The largest whole number whose square is at most `value`, which is not negative (Newton's method). */
export function squareRoot(value: bigint): bigint {
  if (value < 2n) return value
  let root = 1n << BigInt(Math.ceil(value.toString(2).length / 2))
  for (;;) {
    const next = (root + value / root) >> 1n
    if (next >= root) return root
    root = next
  }
}

/**
 * Parses a decimal string into base units, exactly.
 *
 * @param text such as `1.5`
 * @param decimals of the asset: 18 for ETH, 6 for USDC
 * @param field the request field that an error names
 * @throws ValidationFailed `invalid_amount`, `too_many_decimals` or `amount_too_large`
 */
export function parseAmount(text: string, decimals: number, field = 'amount'): bigint {
  if (!AMOUNT.test(text)) {
    throw ValidationFailed.field(
      field,
      'invalid_amount',
      `${field} must be a decimal string such as "1.5": digits, no sign, no exponent, no leading zeros.`,
    )
  }
  const [whole = '0', fraction = ''] = text.split('.')
  if (fraction.length > decimals) {
    throw ValidationFailed.field(
      field,
      'too_many_decimals',
      `${field} has ${fraction.length} decimals, but the asset has ${decimals}: send at most ${decimals}. Amounts are never rounded.`,
    )
  }
  const units = BigInt(whole + fraction.padEnd(decimals, '0'))
  if (units > MAX_UINT256) {
    throw ValidationFailed.field(field, 'amount_too_large', `${field} is larger than the maximum of 2^256 - 1.`)
  }
  return units
}

/** Formats base units as the shortest exact decimal string: `1500000n` with 6 decimals is `1.5`. Keeps the sign. */
export function formatAmount(units: bigint, decimals: number): string {
  return formatDigits(units.toString(), decimals)
}

/** As `formatAmount`, of the digits that a numeric column has: what is only shown needs no bigint. */
export function formatDigits(units: string, decimals: number): string {
  const isNegative = units.startsWith('-')
  const digits = (isNegative ? units.slice(1) : units).padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return `${isNegative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}
