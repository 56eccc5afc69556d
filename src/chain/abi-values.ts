/**
 * Reads the arguments of a caller by their types, strictly: libraries take the text "false" for true, null for false,
 * and ignore members that a tuple does not have. All problems are noted, not only the first.
 */
import { fieldPath } from '../core/field-path.ts'
import { adviceFor, type Mistakes, type Path } from '../core/mistakes.ts'
import { readBytes, readInteger } from '../core/scalar-values.ts'
import type { AbiParam, AbiType } from './abi-types.ts'
import { parseAddress } from './address.ts'

/** As many words as the largest call data has. */
const MAX_VALUES = 4_096

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
  const { note } = mistakes
  let count = 0

  function readMembers(members: readonly AbiParam[], given: readonly unknown[], place: Path): unknown[] {
    if (given.length !== members.length) {
      const types = members.map(({ type, name }) => `${type} ${name}`.trim()).join(', ')
      note(place, 'wrong_length', `must have exactly ${members.length} values (${types}), not ${given.length}`)
      return []
    }
    return members.map(({ shape }, index) => read(shape, given[index], [...place, index]))
  }

  function readTuple(members: readonly AbiParam[], value: unknown, place: Path): unknown {
    if (Array.isArray(value)) return readMembers(members, value, place)
    const names = members.map(({ name }) => name)
    const isNamed = new Set(names).size === names.length && !names.includes('')
    if (typeof value !== 'object' || value === null || !isNamed)
      return void note(place, 'wrong_type', `must be an array of its values${isNamed ? ', or an object' : ''}`)
    for (const name of Object.keys(value)) {
      if (names.includes(name) || mistakes.isFull()) continue
      note([...place, name], 'unknown_field', `is not a member of the tuple: ${adviceFor(name, names, 'omit it')}`)
    }
    return members.map(({ name, type, shape }) => {
      if (Object.hasOwn(value, name)) return read(shape, (value as Record<string, unknown>)[name], [...place, name])
      return void note([...place, name], 'required', `is required: its type is ${type}`)
    })
  }

  function readArray(shape: Extract<AbiType, { kind: 'array' }>, value: unknown, place: Path): unknown {
    if (!Array.isArray(value)) return void note(place, 'wrong_type', 'must be an array')
    if (shape.length !== null && value.length !== shape.length)
      return void note(place, 'wrong_length', `must have exactly ${shape.length} items, not ${value.length}`)
    return value.map((item, index) => read(shape.of, item, [...place, index]))
  }

  function read(shape: AbiType, value: unknown, place: Path): unknown {
    count += 1
    if (count === MAX_VALUES + 1) note(place, 'too_many_values', `is value number ${count}: at most ${MAX_VALUES} fit`)
    if (count > MAX_VALUES || mistakes.isFull()) return undefined
    switch (shape.kind) {
      case 'bool':
        if (typeof value !== 'boolean') note(place, 'wrong_type', 'must be true or false')
        return value
      case 'string':
        if (typeof value !== 'string' || /\p{Cs}/u.test(value)) note(place, 'wrong_type', 'must be valid Unicode text')
        return value
      case 'address':
        if (typeof value !== 'string') return void note(place, 'wrong_type', 'must be an address: 0x and 40 hex digits')
        return mistakes.attempt(() => parseAddress(value, fieldPath(place)))
      case 'bytes':
        return readBytes(mistakes, shape.size, value, place)
      case 'integer':
        // Hexadecimal text may be meant as bytes of another length.
        if (typeof value === 'string' && value.startsWith('0x'))
          return void note(place, 'invalid_integer', 'must be a decimal string such as "1000", not hexadecimal')
        return readInteger(mistakes, shape, value, place)
      case 'array':
        return readArray(shape, value, place)
      case 'tuple':
        return readTuple(shape.of, value, place)
      default:
        return shape satisfies never
    }
  }

  return readMembers(params, values, path)
}
