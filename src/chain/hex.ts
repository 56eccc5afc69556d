/**
 * Numbers in the encoding of nodes: quantities (`0x2a`, no leading zeros) and 32-byte words of ABI data. Parsing is
 * strict: a malformed number is an error of the node, never zero.
 */
import { Unavailable } from '../core/errors.ts'

const QUANTITY = /^0x[0-9a-fA-F]+$/
/** Length of a 256-bit quantity, the largest there is. */
const MAX_QUANTITY_LENGTH = 66
const DATA = /^0x(?:[0-9a-fA-F]{2})*$/
const PRINTABLE = /^[!-~]*$/
const WORD_DIGITS = 64

/**
 * The node returned a value that JSON-RPC does not allow there. Another node, or the same one later, may answer
 * correctly.
 */
export function malformed(what: string): Unavailable {
  return new Unavailable('rpc_unavailable', `The response of the node is malformed: ${what}.`)
}

/** Encodes a JSON-RPC quantity: `0` is `0x0`. */
export function toQuantity(value: number | bigint): string {
  return `0x${value.toString(16)}`
}

/** @throws Unavailable when `value` is not a quantity */
export function readQuantity(value: unknown, what: string): bigint {
  if (typeof value !== 'string' || value.length > MAX_QUANTITY_LENGTH || !QUANTITY.test(value))
    throw malformed(`${what} is not a quantity`)
  return BigInt(value)
}

/** A quantity that fits a safe integer: block numbers, nonces, seconds. */
export function readCount(value: unknown, what: string): number {
  const count = typeof value === 'string' && QUANTITY.test(value) ? Number.parseInt(value, 16) : Number.NaN
  if (!Number.isSafeInteger(count)) throw malformed(`${what} is not a count`)
  return count
}

/** Bytes as `0x` and pairs of hexadecimal digits. */
export function readData(value: unknown, what: string): string {
  if (typeof value !== 'string' || !DATA.test(value)) throw malformed(`${what} is not data`)
  return value
}

/** A hex string in lower case, for comparing and recording addresses, hashes and data. Any other text is refused. */
export function readLower(value: unknown, what: string): string {
  if (typeof value !== 'string') throw malformed(`${what} is missing`)
  if (!PRINTABLE.test(value)) throw malformed(`${what} is not hexadecimal`)
  return value.toLowerCase()
}

/** An address as an ABI word, without `0x`. */
export function addressWord(address: string): string {
  return address.slice(2).toLowerCase().padStart(WORD_DIGITS, '0')
}

/** An unsigned integer as an ABI word, without `0x`. */
export function uintWord(value: bigint): string {
  return value.toString(16).padStart(WORD_DIGITS, '0')
}

/** The word at `index` of ABI data, as an unsigned integer; `null` when the data is shorter. */
export function wordAt(data: string, index: number): bigint | null {
  const start = 2 + index * WORD_DIGITS
  const digits = data.slice(start, start + WORD_DIGITS)
  return digits.length === WORD_DIGITS ? BigInt(`0x${digits}`) : null
}
