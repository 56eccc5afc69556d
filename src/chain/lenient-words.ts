/**
 * Reads ABI data as leniently as contracts do: missing bytes are zeros, offsets may point backwards, and the upper bits of
 * addresses are ignored. `at` and `start` are bytes from the begin of the arguments.
 */

export const WORD = 32

/** Offsets are signed, as in the decoder of Solidity. @returns `null` if it is not in the data */
export function placeAt(args: Buffer, start: number, at: number): number | null {
  const place = BigInt(start) + BigInt.asIntN(256, wordAt(args, at))
  return place >= 0n && place < BigInt(args.length) ? Number(place) : null
}

/** The length of a list; `null` if it is above `most`. */
export function countAt(args: Buffer, at: number, most: number): number | null {
  const count = wordAt(args, at)
  return count > BigInt(most) ? null : Number(count)
}

/** The bytes whose offset is at `at`, counted from `start`; `null` if they are not in the data. */
export function bytesAt(args: Buffer, start: number, at: number): Buffer | null {
  const place = placeAt(args, start, at)
  if (place === null) return null
  const length = wordAt(args, place)
  const from = place + WORD
  return BigInt(from) + length <= BigInt(args.length) ? args.subarray(from, from + Number(length)) : null
}

export function wordAt(args: Buffer, at: number): bigint {
  return BigInt(`0x${args.toString('hex', at, at + WORD).padEnd(2 * WORD, '0')}`)
}

/** In lower case. */
export function addressIn(args: Buffer, at: number): string {
  return `0x${args.toString('hex', at + 12, at + WORD).padEnd(40, '0')}`
}

/** @param index of the parameter */
export function addressAt(args: Buffer, index: number): string {
  return addressIn(args, index * WORD)
}
