/** The notation of the types of EIP-712. */
import type { Member, ValueType } from '../chain/abi-values.ts'
import { parseScalar } from '../core/scalar-values.ts'

/** The fields of each declared struct. */
export type Structs = ReadonlyMap<string, readonly Member[]>

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

/**
 * Parses a declared type: `uint256`, `bytes32[2][]`, `Person[]`. `null` when invalid.
 *
 * @param structs a struct becomes a tuple of its fields here, which may be read later; an unknown one has no fields
 */
export function parseShape(text: string, structs: Structs): ValueType | null {
  const [, base = '', brackets = ''] = DECLARED.exec(text) ?? []
  const lengths = brackets === '' ? [] : brackets.slice(1, -1).split('][')
  if (lengths.length > MAX_DIMENSIONS) return null
  let shape: ValueType | null = parseScalar(base)
  if (shape === null && isStructName(base)) shape = { kind: 'tuple', of: structs.get(base) ?? [] }
  for (const length of lengths) {
    if (shape === null || (length !== '' && !LENGTH.test(length))) return null
    shape = { kind: 'array', of: shape, length: length === '' ? null : Number(length) }
  }
  return shape
}

/** The struct in a valid type, directly or as array items; `null` for none. */
export function structIn(type: string): string | null {
  const [base = ''] = type.split('[', 1)
  return parseScalar(base) === null ? base : null
}
