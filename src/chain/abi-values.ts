/**
 * Reads a caller's values by their types, strictly: libraries take the text "false" for true, null for false, and ignore
 * members that a tuple does not have. All problems are noted, not only the first, and the result has one canonical form.
 */
import { fieldPath } from '../core/field-path.ts'
import { adviceFor, type Mistakes, type Path } from '../core/mistakes.ts'
import { readBytes, readInteger, type ScalarType } from '../core/scalar-values.ts'
import type { AbiParam } from './abi-types.ts'
import { parseAddress } from './address.ts'

/** A type of the ABI, or of typed data (EIP-712), whose structs are tuples. */
export type ValueType =
  | ScalarType
  /** `length` is `null` for any number of items. */
  | { readonly kind: 'array'; readonly of: ValueType; readonly length: number | null }
  | { readonly kind: 'tuple'; readonly of: readonly Member[] }

export type Member = { readonly name: string; readonly type: string; readonly shape: ValueType }

/** In what the arguments of a call and typed data differ. */
export type ValueRules = {
  /** Values at every depth. */
  readonly maxValues: number
  readonly tooMany: (count: number) => string
  readonly text: string
  /** Whether an integer may be hexadecimal text. */
  readonly hexIntegers: boolean
  /** Whether a tuple may be a list of its values. The result of every tuple is then a list, otherwise an object. */
  readonly tuplesAreLists: boolean
  readonly wrongTuple: (isNamed: boolean) => string
  /** For a member that the type does not have. `advice` is given if no similar member exists. */
  readonly unknownMember: { readonly rule: string; readonly advice: string }
}

const ARGUMENTS: ValueRules = {
  // As many words as the largest call data has.
  maxValues: 4_096,
  tooMany: (count) => `is value number ${count}: at most ${ARGUMENTS.maxValues} fit`,
  text: 'must be valid Unicode text',
  // Hexadecimal text may be meant as bytes of another length.
  hexIntegers: false,
  tuplesAreLists: true,
  wrongTuple: (isNamed) => `must be an array of its values${isNamed ? ', or an object' : ''}`,
  unknownMember: { rule: 'is not a member of the tuple', advice: 'omit it' },
}

/**
 * @param values by position; a tuple may also be an object with all of its members
 * @returns for `encodeValues`: integers as decimal digits, tuples as lists. Meaningless if a problem was noted
 */
export function readArguments(
  params: readonly AbiParam[],
  values: readonly unknown[],
  path: Path,
  mistakes: Mistakes,
): unknown[] {
  return createTupleReader(mistakes, ARGUMENTS)(params, values, path) as unknown[]
}

/** Reads a value as a tuple of these members. All calls of one reader share its limit of values. */
export type TupleReader = (members: readonly Member[], value: unknown, path: Path) => unknown

/** @returns a reader of integers as decimal digits and bytes as lower case. What it returns is meaningless if a problem was noted */
export function createTupleReader(mistakes: Mistakes, rules: ValueRules): TupleReader {
  const { note } = mistakes
  let count = 0

  function readList(members: readonly Member[], given: readonly unknown[], place: Path): unknown[] {
    if (given.length !== members.length) {
      const types = members.map(({ type, name }) => `${type} ${name}`.trim()).join(', ')
      note(place, 'wrong_length', `must have exactly ${members.length} values (${types}), not ${given.length}`)
      return []
    }
    return members.map(({ shape }, index) => read(shape, given[index], [...place, index]))
  }

  function readTuple(members: readonly Member[], value: unknown, place: Path): unknown {
    const isList = Array.isArray(value)
    if (isList && rules.tuplesAreLists) return readList(members, value, place)
    const names = members.map(({ name }) => name)
    const isNamed = new Set(names).size === names.length && !names.includes('')
    if (typeof value !== 'object' || value === null || isList || !isNamed)
      return void note(place, 'wrong_type', rules.wrongTuple(isNamed))
    for (const name of Object.keys(value)) {
      if (names.includes(name) || mistakes.isFull()) continue
      const { rule, advice } = rules.unknownMember
      note([...place, name], 'unknown_field', `${rule}: ${adviceFor(name, names, advice)}`)
    }
    const values = members.map(({ name, type, shape }) => {
      if (Object.hasOwn(value, name)) return read(shape, (value as Record<string, unknown>)[name], [...place, name])
      return void note([...place, name], 'required', `is required: its type is ${type}`)
    })
    return rules.tuplesAreLists ? values : Object.fromEntries(names.map((name, index) => [name, values[index]]))
  }

  function readArray(shape: Extract<ValueType, { kind: 'array' }>, value: unknown, place: Path): unknown {
    if (!Array.isArray(value)) return void note(place, 'wrong_type', 'must be an array')
    if (shape.length !== null && value.length !== shape.length)
      return void note(place, 'wrong_length', `must have exactly ${shape.length} items, not ${value.length}`)
    return value.map((item, index) => read(shape.of, item, [...place, index]))
  }

  function read(shape: ValueType, value: unknown, place: Path): unknown {
    count += 1
    if (count === rules.maxValues + 1) note(place, 'too_many_values', rules.tooMany(count))
    if (count > rules.maxValues || mistakes.isFull()) return undefined
    switch (shape.kind) {
      case 'array':
        return readArray(shape, value, place)
      case 'tuple':
        return readTuple(shape.of, value, place)
      default:
        return readScalar(shape, value, place, mistakes, rules)
    }
  }

  return readTuple
}

function readScalar(shape: ScalarType, value: unknown, place: Path, mistakes: Mistakes, rules: ValueRules): unknown {
  const { note } = mistakes
  switch (shape.kind) {
    case 'bool':
      if (typeof value !== 'boolean') note(place, 'wrong_type', 'must be true or false')
      return value
    case 'string':
      if (typeof value !== 'string' || /\p{Cs}/u.test(value)) note(place, 'wrong_type', rules.text)
      return value
    case 'address':
      if (typeof value !== 'string') return void note(place, 'wrong_type', 'must be an address: 0x and 40 hex digits')
      return mistakes.attempt(() => parseAddress(value, fieldPath(place)))
    case 'bytes':
      return readBytes(mistakes, shape.size, value, place)
    case 'integer':
      if (!rules.hexIntegers && typeof value === 'string' && value.startsWith('0x'))
        return void note(place, 'invalid_integer', 'must be a decimal string such as "1000", not hexadecimal')
      return readInteger(mistakes, shape, value, place)
    default:
      return shape satisfies never
  }
}
