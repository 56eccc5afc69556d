/** The types of EIP-712: how one is written, and what a value of it looks like. */

export type Shape =
  | { readonly kind: 'bool' | 'string' | 'address' }
  | { readonly kind: 'integer'; readonly signed: boolean; readonly bits: number }
  /** `size` in bytes; `null` for any number of them. */
  | { readonly kind: 'bytes'; readonly size: number | null }
  /** `length` is `null` for any number of items. */
  | { readonly kind: 'array'; readonly of: Shape; readonly length: number | null }
  | { readonly kind: 'struct'; readonly name: string }

/**
 * An identifier of Solidity. A name goes into the text that is hashed: with a bracket, a comma or a space in it, two types
 * that differ could have one hash. Some protocols put a colon into the names of their types, which is harmless.
 */
const FIELD_NAME = /^[A-Za-z_$][A-Za-z0-9_$]*$/
const STRUCT_NAME = /^[A-Za-z_$][A-Za-z0-9_$:]*$/
/** What reads as a type of the standard, or would in a later version of it. */
const RESERVED = /^(?:u?int|u?fixed|bytes)\d*(?:x\d+)?$|^(?:address|bool|string|byte|function)$/
/** To an object of JavaScript this is no name like any. */
const PROTOTYPE = '__proto__'

const DECLARED = /^([^[\]]+)((?:\[[^[\]]*\])*)$/
const LENGTH = /^[1-9]\d{0,8}$/
/** No protocol is known that nests deeper than two. */
const MAX_DIMENSIONS = 8

export function isFieldName(text: string): boolean {
  return FIELD_NAME.test(text) && text !== PROTOTYPE
}

/** Whether a struct may be called this. */
export function isStructName(text: string): boolean {
  return STRUCT_NAME.test(text) && !RESERVED.test(text) && text !== PROTOTYPE
}

/** Reads a type as it is declared: `uint256`, `bytes32[2][]`, `Person[]`. `null` when it is none. */
export function parseShape(text: string): Shape | null {
  const [, base = '', brackets = ''] = DECLARED.exec(text) ?? []
  const lengths = brackets === '' ? [] : brackets.slice(1, -1).split('][')
  if (lengths.length > MAX_DIMENSIONS) return null
  let shape = parseBase(base)
  for (const length of lengths) {
    if (shape === null || (length !== '' && !LENGTH.test(length))) return null
    shape = { kind: 'array', of: shape, length: length === '' ? null : Number(length) }
  }
  return shape
}

function parseBase(text: string): Shape | null {
  if (text === 'bool' || text === 'string' || text === 'address') return { kind: text }
  if (text === 'bytes') return { kind: 'bytes', size: null }
  const [, size] = /^bytes([1-9]\d?)$/.exec(text) ?? []
  if (size !== undefined && Number(size) <= 32) return { kind: 'bytes', size: Number(size) }
  const [, unsigned, width] = /^(u?)int([1-9]\d{0,2})$/.exec(text) ?? []
  if (width !== undefined) {
    const bits = Number(width)
    return bits % 8 === 0 && bits <= 256 ? { kind: 'integer', signed: unsigned === '', bits } : null
  }
  return isStructName(text) ? { kind: 'struct', name: text } : null
}

/** The struct that a shape holds, itself or as items; `null` for none. */
export function structIn(shape: Shape): string | null {
  if (shape.kind === 'array') return structIn(shape.of)
  return shape.kind === 'struct' ? shape.name : null
}
