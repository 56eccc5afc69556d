/**
 * Parses values by their types, strictly: values that libraries interpret differently, or silently convert, are
 * refused. The result is one canonical form of many equivalent ones.
 */
import { parseAddress } from '../chain/address.ts'
import { fieldPath } from '../core/field-path.ts'
import { adviceFor, type Mistakes, type Path } from '../core/mistakes.ts'
import { readBytes, readInteger } from '../core/scalar-values.ts'
import type { Field, Structs } from './read-types.ts'
import type { Shape } from './shapes.ts'

/** Structs, arrays and their elements. Hashing one takes about 20 µs, during which the event loop is blocked. */
const MAX_VALUES = 2_048

export type ValueReader = {
  /** A struct by its fields; `undefined` when a problem in it was reported. */
  readonly struct: (fields: readonly Field[], value: unknown, path: Path) => Record<string, unknown> | undefined
}

export function createValueReader(structs: Structs, mistakes: Mistakes): ValueReader {
  const { note } = mistakes
  let values = 0

  function readStruct(fields: readonly Field[], value: unknown, path: Path): Record<string, unknown> | undefined {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      note(path, 'wrong_type', 'must be an object with the fields of its type')
      return undefined
    }
    const names = fields.map(({ name }) => name)
    for (const name of Object.keys(value)) {
      if (names.includes(name) || mistakes.isFull()) continue
      const advice = adviceFor(name, names, 'omit it, or declare it')
      note([...path, name], 'unknown_field', `is not a field of its type and would not be signed: ${advice}`)
    }
    return Object.fromEntries(
      fields.map(({ name, type, shape }) => {
        const place = [...path, name]
        if (Object.hasOwn(value, name)) return [name, read(shape, (value as Record<string, unknown>)[name], place)]
        note(place, 'required', `is required: its type is ${type}`)
        return [name, undefined]
      }),
    )
  }

  function readArray(shape: Extract<Shape, { kind: 'array' }>, value: unknown, path: Path): unknown {
    if (!Array.isArray(value)) return void note(path, 'wrong_type', 'must be an array')
    if (shape.length !== null && value.length !== shape.length)
      return void note(path, 'wrong_length', `must have exactly ${shape.length} items, not ${value.length}`)
    return value.map((item, index) => read(shape.of, item, [...path, index]))
  }

  function read(shape: Shape, value: unknown, path: Path): unknown {
    values += 1
    if (values === MAX_VALUES + 1)
      note(
        path,
        'too_many_values',
        `is value number ${values}, but at most ${MAX_VALUES} values can be signed: sign a hash of them`,
      )
    if (values > MAX_VALUES || mistakes.isFull()) return undefined
    switch (shape.kind) {
      case 'struct':
        return readStruct(structs.get(shape.name) ?? [], value, path)
      case 'array':
        return readArray(shape, value, path)
      case 'bool':
      case 'string': {
        const type = shape.kind === 'bool' ? 'boolean' : 'string'
        // Libraries convert the text "false" to true, and a missing value to false.
        if (typeof value !== type)
          note(path, 'wrong_type', type === 'boolean' ? 'must be true or false' : 'must be text')
        return value
      }
      case 'address':
        if (typeof value !== 'string') return void note(path, 'wrong_type', 'must be an address: 0x and 40 hex digits')
        return mistakes.attempt(() => parseAddress(value, fieldPath(path)))
      case 'bytes':
        return readBytes(mistakes, shape.size, value, path)
      case 'integer':
        return readInteger(mistakes, shape, value, path)
      default:
        return shape satisfies never
    }
  }

  return { struct: readStruct }
}
