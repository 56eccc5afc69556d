/**
 * Parses integers and bytes of a caller strictly: values that libraries interpret differently, or silently convert, are
 * refused. A problem is noted, and the result is then `undefined`.
 */
import type { Mistakes, Path } from './mistakes.ts'

/** 2^256 has 78 decimal digits. */
const DECIMAL = /^(?:0|-?[1-9]\d{0,77})$/
const QUANTITY = /^0x[0-9a-fA-F]{1,64}$/
const BYTES = /^0x(?:[0-9a-fA-F]{2})*$/

/** @param size in bytes; `null` for any number. @returns lower case */
export function readBytes({ note }: Mistakes, size: number | null, value: unknown, path: Path): string | undefined {
  if (typeof value === 'string' && BYTES.test(value) && (size === null || value.length === 2 + 2 * size))
    return value.toLowerCase()
  const length = size === null ? 'an even number of' : `${2 * size}`
  note(path, 'invalid_bytes', `must be bytes: 0x and ${length} hexadecimal digits`)
  return undefined
}

/** @returns decimal digits */
export function readInteger(
  { note }: Mistakes,
  { signed, bits }: { readonly signed: boolean; readonly bits: number },
  value: unknown,
  path: Path,
): string | undefined {
  const type = `${signed ? '' : 'u'}int${bits}`
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    note(path, 'unsafe_number', 'is too large for an exact JSON number: send it as a decimal string')
    return undefined
  }
  if (!isInteger(value)) {
    note(path, 'invalid_integer', `must be a whole number (${type}), preferably a decimal string such as "1000"`)
    return undefined
  }
  const number = BigInt(value)
  const [least, beyond] = signed ? [-(1n << BigInt(bits - 1)), 1n << BigInt(bits - 1)] : [0n, 1n << BigInt(bits)]
  if (number >= least && number < beyond) return number.toString()
  note(path, 'out_of_range', `is out of range: ${type} allows ${least} to ${beyond - 1n}`)
  return undefined
}

function isInteger(value: unknown): value is number | string {
  if (typeof value === 'number') return Number.isSafeInteger(value)
  return typeof value === 'string' && (DECIMAL.test(value) || QUANTITY.test(value))
}
