/**
 * Parses the types of typed data. Accepted types are a tree of well-formed structs below one primary type, which every
 * library hashes identically and in time bounded by its size.
 */
import type { Member } from '../chain/abi-values.ts'
import { ValidationFailed } from '../core/errors.ts'
import { adviceFor, createMistakes, type Mistakes } from '../core/mistakes.ts'
import { isFieldName, isStructName, parseShape, type Structs, structIn } from './shapes.ts'

export type Declaration = { readonly name: string; readonly type: string }
export type Types = { readonly structs: Structs; readonly primaryType: string }

const MAX_STRUCTS = 64
const MAX_FIELDS = 256
/**
 * Limit on paths from the primary type down, all of which libraries walk: thirty structs that each refer to all later
 * ones have half a billion.
 */
const MAX_WAYS = 1_000

/** @throws ValidationFailed with all problems of single types, or otherwise with those of their references */
export function readTypes(declared: Readonly<Record<string, readonly Declaration[]>>): Types {
  const mistakes = createMistakes()
  const names = Object.keys(declared)
  if (names.length === 0)
    mistakes.note(['types'], 'required', 'must declare the primary type and the types that it refers to')
  if (names.length > MAX_STRUCTS) {
    mistakes.note(['types'], 'too_many', `declares ${names.length} types, but at most ${MAX_STRUCTS} are allowed`)
    mistakes.settle()
  }
  // A type may refer to one that is read after it.
  const structs = new Map(names.map((name): [string, Member[]] => [name, []]))
  for (const [name, fields] of structs) fields.push(...readStruct(mistakes, name, declared[name] ?? [], structs))
  for (const [name, fields] of structs) requireKnown(mistakes, name, fields, names)
  mistakes.settle()
  requireFinite(structs)
  return { structs, primaryType: primaryOf(structs) }
}

function readStruct(
  mistakes: Mistakes,
  name: string,
  declarations: readonly Declaration[],
  structs: Structs,
): readonly Member[] {
  const path = ['types', name]
  if (!isStructName(name)) {
    const rule =
      'is not a valid type name: use letters, digits, "_", "$" and ":", no digit first, and not the name of an EIP-712 type'
    mistakes.note(path, 'invalid_type_name', rule)
  }
  if (declarations.length === 0 || declarations.length > MAX_FIELDS) {
    mistakes.note(path, 'wrong_length', `must have 1 to ${MAX_FIELDS} fields, not ${declarations.length}`)
    return []
  }
  const seen = new Set<string>()
  return declarations.flatMap(({ name: field, type }, index): Member[] => {
    const place = [...path, index]
    if (!isFieldName(field)) {
      const rule = 'must be a field name: letters, digits, "_" and "$", no digit first'
      mistakes.note([...place, 'name'], 'invalid_field_name', rule)
    }
    if (seen.has(field)) mistakes.note([...place, 'name'], 'duplicate', 'has the same field twice: remove one of them')
    seen.add(field)
    const shape = parseShape(type, structs)
    if (shape === null) mistakes.note([...place, 'type'], 'invalid_type', ruleFor(type))
    return shape === null ? [] : [{ name: field, type, shape }]
  })
}

function ruleFor(type: string): string {
  const rule =
    'must be an EIP-712 type, such as uint256, bytes32, address, bool or string, or a type that types declares'
  const alias = /^(u?int)(\[.*)?$/.exec(type)
  return alias === null ? rule : `${rule}: write ${alias[1]}256${alias[2] ?? ''} for ${type}`
}

function requireKnown(mistakes: Mistakes, name: string, fields: readonly Member[], names: readonly string[]): void {
  for (const [index, { type }] of fields.entries()) {
    const struct = structIn(type)
    if (struct === null || names.includes(struct) || mistakes.isFull()) continue
    const advice = adviceFor(struct, names, 'declare it, or use an EIP-712 type')
    mistakes.note(
      ['types', name, index, 'type'],
      'unknown_type',
      `refers to ${struct}, which types does not declare: ${advice}`,
    )
  }
}

/** The structs that a struct refers to, each once. */
function childrenOf(structs: Structs, name: string): ReadonlySet<string> {
  const children = (structs.get(name) ?? []).map(({ type }) => structIn(type))
  return new Set(children.filter((child) => child !== null))
}

/** @throws ValidationFailed `recursive_type`, `types_too_complex` */
function requireFinite(structs: Structs): void {
  const ways = new Map<string, number>()
  const open = new Set<string>()
  function count(name: string): number {
    const known = ways.get(name)
    if (known !== undefined) return known
    if (open.has(name)) {
      const rule = `types.${name} refers to itself, which EIP-712 does not define: remove the cycle.`
      throw ValidationFailed.field(`types.${name}`, 'recursive_type', rule)
    }
    open.add(name)
    let sum = 1
    for (const child of childrenOf(structs, name)) sum += count(child)
    open.delete(name)
    ways.set(name, sum)
    return sum
  }
  for (const name of structs.keys()) {
    if (count(name) <= MAX_WAYS) continue
    const rule = `types refer to each other in more than ${MAX_WAYS} ways: use fewer types, or less nesting.`
    throw ValidationFailed.field('types', 'types_too_complex', rule)
  }
}

/** The struct that no other refers to. @throws ValidationFailed `unused_type` when there are several */
function primaryOf(structs: Structs): string {
  const referred = new Set([...structs.keys()].flatMap((name) => [...childrenOf(structs, name)]))
  const [primary, ...others] = [...structs.keys()].filter((name) => !referred.has(name))
  if (primary !== undefined && others.length === 0) return primary
  const rule = `types has several types that no other type refers to (${[primary, ...others].join(', ')}): send only the primary type and the types that it uses.`
  throw ValidationFailed.field('types', 'unused_type', rule)
}
