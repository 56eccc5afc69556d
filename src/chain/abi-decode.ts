/**
 * Decodes ABI data of contracts in time bounded by its limits: pointers to the same data, lengths without data, and
 * words that are no value of their type are refused. Each value is decoded separately, so one that is not valid does
 * not hide the others.
 */
import { isUtf8 } from 'node:buffer'
import type { AbiParam, AbiType } from './abi-types.ts'
import { toChecksumAddress } from './address.ts'

/** Longer data is not decoded. */
const MAX_DECODED_BYTES = 16_384
/** Values of one list, at every depth. */
const MAX_VALUES = 4_096
/** Bytes of all texts and byte strings of one list. */
const MAX_CONTENT = 65_536
const WORD = 32
const ADDRESS = 1n << 160n

/**
 * Integers are decimal strings, bytes and addresses hex, arrays lists, and tuples lists of named values by position:
 * two members of a tuple can have the same name.
 */
export type DecodedJson = null | boolean | string | readonly DecodedJson[] | DecodedValue

export type DecodedValue = {
  readonly name: string
  readonly type: string
  /** `null` if it is not valid. */
  readonly value: DecodedJson
  /** `undecodable`: the data is not valid. `hash`: the event has only the keccak-256 hash of the value. */
  readonly note?: 'undecodable' | 'hash'
}

class Undecodable extends Error {
  override readonly name = 'Undecodable'
}

/** @param data `0x` and hex digits. @returns `null` if it is longer than `MAX_DECODED_BYTES` */
export function decodeValues(params: readonly AbiParam[], data: string): readonly DecodedValue[] | null {
  const bytes = Buffer.from(data.slice(2), 'hex')
  if (bytes.length > MAX_DECODED_BYTES) return null
  const read = createReader(bytes)
  let at = 0
  return params.map(({ name, type, shape }) => {
    const place = at
    at += WORD * shape.words
    try {
      return { name, type, value: read(shape, 0, place) }
    } catch (error) {
      if (!(error instanceof Undecodable)) throw error
      return { name, type, value: null, note: 'undecodable' }
    }
  })
}

/** Reads a value by its head: `base` is where the offsets of its list begin, `at` its place in the head. */
type Read = (shape: AbiType, base: number, at: number) => DecodedJson

function createReader(data: Buffer): Read {
  let values = MAX_VALUES
  let content = MAX_CONTENT

  function word(at: number): bigint {
    if (at + WORD > data.length) throw new Undecodable('the data ends early')
    return BigInt(`0x${data.toString('hex', at, at + WORD)}`)
  }

  function size(at: number): number {
    const count = word(at)
    if (count > BigInt(data.length)) throw new Undecodable('a length or an offset is beyond the data')
    return Number(count)
  }

  function list(shapes: readonly AbiType[], base: number): DecodedJson[] {
    let at = base
    return shapes.map((shape) => {
      const place = at
      at += WORD * shape.words
      return read(shape, base, place)
    })
  }

  const read: Read = (shape, base, at) => body(shape, shape.isDynamic ? base + size(at) : at)

  function body(shape: AbiType, at: number): DecodedJson {
    values -= 1
    if (values < 0) throw new Undecodable('too many values')
    switch (shape.kind) {
      case 'bool':
      case 'address':
      case 'integer':
        return scalar(shape, word(at))
      case 'string':
        return text(bytes(at + WORD, size(at)))
      case 'bytes':
        return shape.size === null ? `0x${bytes(at + WORD, size(at)).toString('hex')}` : fixedBytes(shape.size, at)
      case 'array': {
        const length = shape.length ?? size(at)
        const start = shape.length === null ? at + WORD : at
        if (start + length * WORD * shape.of.words > data.length) throw new Undecodable('the data ends early')
        return list(Array<AbiType>(length).fill(shape.of), start)
      }
      case 'tuple': {
        const members = list(
          shape.of.map((member) => member.shape),
          at,
        )
        return shape.of.map(({ name, type }, index) => ({ name, type, value: members[index] ?? null }))
      }
      default:
        return shape satisfies never
    }
  }

  function bytes(at: number, length: number): Buffer {
    content -= length
    if (at + length > data.length || content < 0) throw new Undecodable('the data ends early')
    return data.subarray(at, at + length)
  }

  function fixedBytes(length: number, at: number): string {
    const digits = word(at)
      .toString(16)
      .padStart(2 * WORD, '0')
    if (!/^0*$/.test(digits.slice(2 * length))) throw new Undecodable('the padding is not zero')
    return `0x${digits.slice(0, 2 * length)}`
  }

  return read
}

function scalar(
  shape: Extract<AbiType, { kind: 'bool' | 'string' | 'address' | 'integer' }>,
  word: bigint,
): DecodedJson {
  if (shape.kind === 'bool' && word < 2n) return word === 1n
  if (shape.kind === 'address' && word < ADDRESS) return toChecksumAddress(`0x${word.toString(16).padStart(40, '0')}`)
  if (shape.kind === 'integer') {
    const value = shape.signed ? BigInt.asIntN(256, word) : word
    if (value === (shape.signed ? BigInt.asIntN(shape.bits, value) : BigInt.asUintN(shape.bits, value)))
      return value.toString()
  }
  throw new Undecodable('the word is no value of its type')
}

/** Without NUL, which a database cannot store. */
function text(bytes: Buffer): string {
  if (!isUtf8(bytes) || bytes.includes(0)) throw new Undecodable('the text is not valid')
  return bytes.toString('utf8')
}

/** The value of an indexed parameter of an event: its word, or the hash of a value that is longer. */
export function decodeTopic({ name, type, shape }: AbiParam, topic: string): DecodedValue {
  const isWord = !shape.isDynamic && shape.kind !== 'array' && shape.kind !== 'tuple'
  if (!isWord) return { name, type, value: topic, note: 'hash' }
  const [value] = decodeValues([{ name, type, shape, isIndexed: false }], topic) ?? []
  return value ?? { name, type, value: null, note: 'undecodable' }
}
