/**
 * Parses a request body as JSON that is safe to process: valid UTF-8, a bounded number of values, bounded depth, no
 * duplicate fields, no names that reach prototypes, and no text that PostgreSQL cannot store.
 */
import { isUtf8 } from 'node:buffer'
import { ValidationFailed } from '../core/errors.ts'
import { fieldPath } from '../core/field-path.ts'
import { DEFAULT_BODY } from './body-limits.ts'
import { RequestRefused } from './http-errors.ts'
import { shapeOf } from './json-shape.ts'
import { whyUnstorable } from './storable-text.ts'

/** Deeper than any ABI or typed data; keeps every later recursion over a body shallow. */
const MAX_DEPTH = 48
/** More members than any object of a request has; members of one object cost far more than those of many. */
const MAX_MEMBERS = 512

type Problem = { readonly code: string; readonly rule: string; readonly path: (string | number)[] }

/**
 * The value in the body; undefined when the body is empty.
 *
 * @param maxValues the route's limit of values; only called for a body with more values than most routes allow
 * @throws RequestRefused `malformed_json`
 * @throws ValidationFailed `too_many_values`, before parsing; for a named field that is too deep or too wide, has a
 *   forbidden name or holds text that cannot be stored; `duplicate_field`
 */
export function readJsonBody(body: Buffer, maxValues: () => number = () => DEFAULT_BODY.values): unknown {
  if (body.length === 0) return undefined
  if (!isUtf8(body))
    throw new RequestRefused('malformed_json', 'The body is not valid UTF-8: JSON must be encoded as UTF-8.')
  const { values, members } = shapeOf(body)
  if (values > DEFAULT_BODY.values) requireFewValues(values, maxValues())
  const text = body.toString('utf8')
  const value = parse(text)
  // Only an escape can produce an unpaired surrogate or NUL: the bytes are valid UTF-8 and JSON allows no raw control
  // characters.
  const problem = inspect(value, 1, text.includes('\\u'))
  if (problem === null) {
    if (members !== countMembers(value)) throw namedTwice()
    return value
  }
  const field = fieldPath(problem.path)
  if (field === '') throw new ValidationFailed([{ code: problem.code, message: `The body ${problem.rule}` }])
  throw ValidationFailed.field(field, problem.code, `${field} ${problem.rule}`)
}

function requireFewValues(values: number, most: number): void {
  if (values <= most) return
  const message = `The body has ${values} values and the limit is ${most}: send a smaller request.`
  throw new ValidationFailed([{ code: 'too_many_values', message }])
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const position = /position \d+/.exec(error instanceof Error ? error.message : '')
    const where = position === null ? '' : `, at ${position[0]}`
    throw new RequestRefused('malformed_json', `The body is not valid JSON${where}.`)
  }
}

/**
 * JSON does not define which of two members with the same name counts: a gateway that reads the first would check a
 * different transfer from the one that is sent. Every member has one colon, and duplicates leave fewer members in the
 * value.
 */
function namedTwice(): ValidationFailed {
  return new ValidationFailed([
    { code: 'duplicate_field', message: 'The body contains the same field twice: send each field once.' },
  ])
}

/** The number of members of all objects in a value of bounded depth. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const parts = Object.values(value)
  let members = Array.isArray(value) ? 0 : parts.length
  for (const part of parts) members += countMembers(part)
  return members
}

function inspect(value: unknown, depth: number, escapes: boolean): Problem | null {
  if (typeof value === 'string') return escapes ? inspectText(value) : null
  if (typeof value !== 'object' || value === null) return null
  if (depth > MAX_DEPTH) return { code: 'too_deep', rule: `is nested more than ${MAX_DEPTH} levels deep.`, path: [] }
  return Array.isArray(value) ? inspectArray(value, depth, escapes) : inspectObject(value, depth, escapes)
}

function inspectArray(items: readonly unknown[], depth: number, escapes: boolean): Problem | null {
  for (let index = 0; index < items.length; index++) {
    const problem = inspect(items[index], depth + 1, escapes)
    if (problem !== null) return within(index, problem)
  }
  return null
}

function inspectObject(members: object, depth: number, escapes: boolean): Problem | null {
  const names = Object.keys(members)
  if (names.length > MAX_MEMBERS) {
    return { code: 'too_many', rule: `must have at most ${MAX_MEMBERS} fields, not ${names.length}.`, path: [] }
  }
  for (const name of names) {
    const member: unknown = (members as Record<string, unknown>)[name]
    if (name === '__proto__' || (name === 'constructor' && isObject(member) && Object.hasOwn(member, 'prototype'))) {
      return { code: 'unknown_field', rule: 'is not an allowed field name.', path: [name] }
    }
    const problem = (escapes ? inspectText(name) : null) ?? inspect(member, depth + 1, escapes)
    if (problem !== null) return within(name, problem)
  }
  return null
}

function inspectText(text: string): Problem | null {
  const why = whyUnstorable(text)
  return why === null ? null : { code: 'invalid_text', rule: `${why}.`, path: [] }
}

function within(step: string | number, problem: Problem): Problem {
  problem.path.unshift(step)
  return problem
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
