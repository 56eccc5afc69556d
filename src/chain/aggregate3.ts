/**
 * `aggregate3` of Multicall3 at the byte level: many calls in one, each of which may fail alone. Encoded by hand, since
 * a general ABI coder takes several times as long, and a quote of a swap or a block with many wallets has hundreds.
 */
import { Unavailable } from '../core/errors.ts'
import { addressWord, uintWord } from './hex.ts'

/** `aggregate3((address target, bool allowFailure, bytes callData)[])`. */
const SELECTOR = '0x82ad56cb'
const WORD = 32
/** Hex digits of a word, and of `0x`. */
const DIGITS = 64
const PREFIX = 2

export type AggregatedCall = { readonly target: string; readonly data: string }

/** Call data of a call that makes all of these, and returns what each returned. */
export function encodeAggregate3(calls: readonly AggregatedCall[]): string {
  const items = calls.map(({ target, data }) => {
    const digits = data.slice(PREFIX)
    const padded = digits.padEnd(Math.ceil(digits.length / DIGITS) * DIGITS, '0')
    return addressWord(target) + uintWord(1n) + uintWord(96n) + uintWord(BigInt(digits.length / 2)) + padded
  })
  let offset = calls.length * WORD
  const offsets = items.map((item) => {
    const own = uintWord(BigInt(offset))
    offset += item.length / 2
    return own
  })
  return SELECTOR + uintWord(BigInt(WORD)) + uintWord(BigInt(calls.length)) + offsets.join('') + items.join('')
}

/**
 * What each call returned, in order; `null` for one that failed or returned nothing.
 *
 * @param count the number of calls
 * @throws Unavailable when the answer is not one of so many calls
 */
export function decodeAggregate3(data: string, count: number): (string | null)[] {
  const list = numberAt(data, 0)
  if (numberAt(data, list) !== count) throw malformed()
  const first = list + WORD
  return Array.from({ length: count }, (_, i) => {
    const item = first + numberAt(data, first + i * WORD)
    const returned = item + numberAt(data, item + WORD)
    const length = numberAt(data, returned)
    const start = PREFIX + 2 * (returned + WORD)
    const end = start + 2 * length
    if (end > data.length) throw malformed()
    return numberAt(data, item) === 0 || length === 0 ? null : `0x${data.slice(start, end)}`
  })
}

/** The word at a byte, as a place or a length in the data. @throws Unavailable when it is longer than the data */
function numberAt(data: string, byte: number): number {
  const start = PREFIX + 2 * byte
  const digits = data.slice(start, start + DIGITS)
  const value = digits.length === DIGITS ? Number(`0x${digits}`) : Number.NaN
  // Also refuses what a double cannot hold: it is far beyond the end.
  if (!(value <= data.length)) throw malformed()
  return value
}

function malformed(): Unavailable {
  return new Unavailable('rpc_unavailable', 'The response of the node is malformed: the answer of Multicall3.')
}
