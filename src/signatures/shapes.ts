/** The types of EIP-712: their notation and the form of their values. */

export type Shape =
  | { readonly kind: 'bool' | 'string' | 'address' }
  | { readonly kind: 'integer'; readonly signed: boolean; readonly bits: number }
  /** `size` in bytes; `null` for any number. */
  | { readonly kind: 'bytes'; readonly size: number | null }
  /** `length` is `null` for any number of items. */
  | { readonly kind: 'array'; readonly of: Shape; readonly length: number | null }
  | { readonly kind: 'struct'; readonly name: string }

/**
 * A Solidity identifier. A name becomes part of the hashed text: with a bracket, a comma or a space, two different
 * types could have the same hash. Some protocols use a colon in type names, which is harmless.
 */
const FIELD_NAME = /^[A-Za-z_$][A-Za-z0-9_$]*$/
const STRUCT_NAME = /^[A-Za-z_$][A-Za-z0-9_$:]*$/
/** Names that are types of the standard, or may be in a later version. */
const RESERVED = /^(?:u?int|u?fixed|bytes)\d*(?:x\d+)?$|^(?:address|bool|string|byte|function)$/
/** JavaScript objects treat this name specially. */
const PROTOTYPE = '__proto__'

const DECLARED = /^([^[\]]+)((?:\[[^[\]]*\])*)$/
const LENGTH = /^[1-9]\d{0,8}$/
/** No known protocol nests deeper than two. */
const MAX_DIMENSIONS = 8

export function isFieldName(text: string): boolean {
  return FIELD_NAME.test(text) && text !== PROTOTYPE
}

/** Whether a struct may have this name. */
export function isStructName(text: string): boolean {
  return STRUCT_NAME.test(text) && !RESERVED.test(text) && text !== PROTOTYPE
}

/** Parses a declared type: `uint256`, `bytes32[2][]`, `Person[]`. `null` when invalid. */
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

/** The struct in a shape, directly or as array items; `null` for none. */
export function structIn(shape: Shape): string | null {
  if (shape.kind === 'array') return structIn(shape.of)
  return shape.kind === 'struct' ? shape.name : null
}
