/**
 * The stored form of amounts. In memory they are bigint; event data is JSON, so they are decimal digits in strings there. The
 * append writes them (`canonicalData`), and the reader of an event's schema reads them (`upcast`): nothing between has digits.
 */

/** A value as event data holds it: each bigint is a string of decimal digits. */
export type Recorded<Value> = Value extends bigint
  ? string
  : Value extends object
    ? { [Key in keyof Value]: Recorded<Value[Key]> }
    : Value

const DIGITS = /^(?:0|[1-9]\d*)$/

/** @throws TypeError for an amount below 0, which `readDigits` would not read */
export function writeDigits(amount: bigint): string {
  if (amount < 0n) throw new TypeError(`amounts in events are not negative: ${amount}`)
  return amount.toString()
}

/**
 * Reads what `writeDigits` wrote, and nothing else: `BigInt` alone takes an empty text for 0, and reads signs, spaces, leading
 * zeros, hex and numbers too.
 *
 * @throws TypeError
 */
export function readDigits(digits: string): bigint {
  if (typeof digits !== 'string' || !DIGITS.test(digits)) throw new TypeError('an amount is not a string of digits')
  return BigInt(digits)
}
