/**
 * The scalar types of Solidity, and the strict parsing of a caller's integers and bytes: values that libraries interpret
 * differently, or silently convert, are refused. A problem is noted, and the result is then `undefined`.
 */
import type { Mistakes, Path } from './mistakes.ts'

export type ScalarType =
  | { readonly kind: 'bool' | 'string' | 'address' }
  | { readonly kind: 'integer'; readonly signed: boolean; readonly bits: number }
  /** `size` in bytes; `null` for any number. */
  | { readonly kind: 'bytes'; readonly size: number | null }

/** 2^256 has 78 decimal digits. */
const DECIMAL = /^(?:0|-?[1-9]\d{0,77})$/
const QUANTITY = /^0x[0-9a-fA-F]{1,64}$/
const BYTES = /^0x(?:[0-9a-fA-F]{2})*$/

/** @param text canonical: `uint256`, not `uint`. @returns `null` if it is no scalar type */
export function parseScalar(text: string): ScalarType | null {
  if (text === 'bool' || text === 'string' || text === 'address') return { kind: text }
  if (text === 'bytes') return { kind: 'bytes', size: null }
  const [, size] = /^bytes([1-9]\d?)$/.exec(text) ?? []
  if (size !== undefined && Number(size) <= 32) return { kind: 'bytes', size: Number(size) }
  const [, unsigned, width] = /^(u?)int([1-9]\d{0,2})$/.exec(text) ?? []
  const bits = Number(width)
  if (width === undefined || bits % 8 !== 0 || bits > 256) return null
  return { kind: 'integer', signed: unsigned === '', bits }
}

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
