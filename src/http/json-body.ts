/**
 * Reads a request body as JSON that is safe to hand on: valid UTF-8, bounded depth, no field twice, no names that reach
 * prototypes, and no text that PostgreSQL cannot store.
 */
import { isUtf8 } from 'node:buffer'
import { ValidationFailed } from '../core/errors.ts'
import { fieldPath } from '../core/field-path.ts'
import { RequestRefused } from './http-errors.ts'

/** Deeper nesting than any ABI or typed data has; keeps every later recursion over a body shallow. */
const MAX_DEPTH = 48

const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c

type Problem = { readonly code: string; readonly rule: string; readonly path: (string | number)[] }

/**
 * The value in the body; undefined when the body is empty.
 *
 * @throws RequestRefused `malformed_json`
 * @throws ValidationFailed naming the field that is too deep, has a forbidden name or holds text that cannot be stored;
 *   `duplicate_field`
 */
export function readJsonBody(body: Buffer): unknown {
  if (body.length === 0) return undefined
  if (!isUtf8(body)) throw new RequestRefused('malformed_json', 'The body is not valid UTF-8, as JSON must be.')
  const text = body.toString('utf8')
  const value = parse(text)
  // Only an escape can bring in a lone surrogate or NUL: the bytes are valid UTF-8 and JSON takes no raw control character.
  const problem = inspect(value, 1, text.includes('\\u'))
  if (problem === null) {
    if (countColons(text) !== countMembers(value)) throw namedTwice()
    return value
  }
  const field = fieldPath(problem.path)
  if (field === '') throw new ValidationFailed([{ code: problem.code, message: `The body ${problem.rule}` }])
  throw ValidationFailed.field(field, problem.code, `${field} ${problem.rule}`)
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
 * JSON leaves open which of two members of one name counts: a gateway that reads the first would let another transfer
 * pass than the one that is sent. Every member has one colon, and of two with one name only one is left in the value.
 */
function namedTwice(): ValidationFailed {
  return new ValidationFailed([
    { code: 'duplicate_field', message: 'The body has a field twice: send each field once.' },
  ])
}

/** Colons outside strings. @param text valid JSON */
function countColons(text: string): number {
  let colons = 0
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at)
    if (character === COLON) colons++
    else if (character === QUOTE) at = endOfString(text, at)
  }
  return colons
}

/** Where the string ends that begins at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1
  while (text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1
  return at
}

/** Members of all objects in a value whose depth is bounded. */
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
  for (const name of Object.keys(members)) {
    const member: unknown = (members as Record<string, unknown>)[name]
    if (name === '__proto__' || (name === 'constructor' && isObject(member) && Object.hasOwn(member, 'prototype'))) {
      return { code: 'unknown_field', rule: 'is not a name that a request may use.', path: [name] }
    }
    const problem = (escapes ? inspectText(name) : null) ?? inspect(member, depth + 1, escapes)
    if (problem !== null) return within(name, problem)
  }
  return null
}

function inspectText(text: string): Problem | null {
  if (text.includes('\u0000')) return { code: 'invalid_text', rule: 'contains the character NUL.', path: [] }
  if (/\p{Surrogate}/u.test(text)) return { code: 'invalid_text', rule: 'contains half of a surrogate pair.', path: [] }
  return null
}

function within(step: string | number, problem: Problem): Problem {
  problem.path.unshift(step)
  return problem
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
