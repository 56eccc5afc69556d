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

/** @throws TypeError for an amount below 0, which `readDigits` would not read */
export function writeDigits(amount: bigint): string {
  if (amount < 0n) throw new TypeError(`amounts in events are not negative: ${amount}`)
  return amount.toString()
}

/**
 * Reads what `writeDigits` wrote, and nothing else: `BigInt` alone takes an empty text for 0, and reads signs, leading zeros,
 * hex, spaces around digits, and numbers too. What begins and ends with a digit it reads only if all are digits.
 *
 * @throws TypeError, SyntaxError
 */
export function readDigits(digits: string): bigint {
  if (typeof digits !== 'string' || (digits !== '0' && !(isDigit(digits, 0, ONE) && isDigit(digits, -1, ZERO))))
    throw new TypeError('an amount is not a string of digits')
  return BigInt(digits)
}

const [ZERO, ONE, NINE] = [48, 49, 57]

/** @param least the code of the smallest digit */
function isDigit(text: string, at: 0 | -1, least: number): boolean {
  const code = text.charCodeAt(at === 0 ? 0 : text.length - 1)
  return code >= least && code <= NINE
}
