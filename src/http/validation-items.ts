/** The only place that converts AJV errors to items that a caller can act on: the field, the rule, what to do. */
import type { ErrorObject } from 'ajv'
import { closest } from '../core/closest.ts'
import type { ErrorItem } from '../core/errors.ts'
import { fieldPath, stepsOf } from '../core/field-path.ts'
import { paddingOf, unfitIn } from '../core/plain-text.ts'

/** More items are not useful, and a hostile body could produce a hundred thousand. */
const MAX_ITEMS = 100

/** The root of a body has no name: its item has no field. */
type Item = Omit<ErrorItem, 'type'>
type Noun = 'field' | 'query parameter' | 'header'
type Phrase = { readonly code: string; readonly rule: string }

/**
 * One item for each failing field.
 *
 * @param errors from AJV with `verbose`; at least one
 * @param root the validated value
 * @param noun what its members are called
 */
export function itemsOf(errors: readonly ErrorObject[], root: unknown, noun: Noun): Item[] {
  const items = new Map<string, Item>()
  for (const error of withoutBranches(errors)) {
    const item = itemOf(error, root, noun)
    const field = item.field ?? ''
    if (!items.has(field)) items.set(field, item)
    if (items.size === MAX_ITEMS) break
  }
  return [...items.values()]
}

function itemOf(error: ErrorObject, root: unknown, noun: Noun): Item {
  const steps = stepsOf(error.instancePath, root)
  if (error.keyword === 'required' || error.keyword === 'dependentRequired') return missing(error, steps)
  if (error.keyword === 'additionalProperties' || error.keyword === 'unevaluatedProperties') {
    return unknownMember(error, steps, noun)
  }
  const field = fieldPath(steps)
  const { code, rule } = ownRule(error) ?? (noun === 'field' ? phrase(error) : textPhrase(error))
  if (field === '') return { code, message: `The body ${rule}.` }
  return { field, code, message: `${field} ${rule}.` }
}

function missing(error: ErrorObject, steps: readonly (string | number)[]): Item {
  const field = fieldPath([...steps, String(error.params.missingProperty)])
  const because = error.keyword === 'dependentRequired' ? ` when ${String(error.params.property)} is sent` : ''
  const allowed = allowedBy(propertiesOf(error)[String(error.params.missingProperty)])
  const choice = allowed === undefined ? '' : `: one of ${listed(allowed)}`
  return { field, code: 'required', message: `${field} is required${because}${choice}.` }
}

function unknownMember(error: ErrorObject, steps: readonly (string | number)[], noun: Noun): Item {
  const name = String(error.params.additionalProperty ?? error.params.unevaluatedProperty)
  const meant = closest(name, Object.keys(propertiesOf(error)))
  const field = fieldPath([...steps, name])
  const advice = meant === undefined ? '' : `: did you mean ${fieldPath([...steps, meant])}?`
  return {
    field,
    code: `unknown_${noun.replace(' ', '_')}`,
    message: `${field} is not a ${noun} of this request${advice || '.'}`,
  }
}

/**
 * A schema's `x-rule`, for every keyword except `type`: an amount sent as a number needs another message than a
 * malformed one.
 */
function ownRule(error: ErrorObject): Phrase | null {
  const schema = error.parentSchema as { 'x-rule'?: string; 'x-code'?: string; format?: string } | undefined
  if (error.keyword === 'type' || schema?.['x-rule'] === undefined) return null
  return { code: schema['x-code'] ?? 'invalid', rule: unfitText(error.data, schema.format) ?? schema['x-rule'] }
}

const UNFIT_BY_FORMAT: Readonly<Record<string, (text: string) => string | null>> = {
  'plain-text': (text) => unfitIn(text, { lineFeeds: false }),
  'plain-lines': (text) => unfitIn(text, { lineFeeds: true }),
  'plain-id': (text) => unfitIn(text, { lineFeeds: false }) ?? paddingOf(text),
  'search-id': paddingOf,
}

/** Names the offending character, which may be invisible to its sender. */
function unfitText(data: unknown, format: string | undefined): string | null {
  return typeof data === 'string' ? (UNFIT_BY_FORMAT[format ?? '']?.(data) ?? null) : null
}

function phrase(error: ErrorObject): Phrase {
  const write = PHRASES[error.keyword]
  return write === undefined ? { code: 'invalid', rule: error.message ?? 'is not valid' } : write(error)
}

/** Headers and query parameters are always text: reporting that a string was sent would explain nothing. */
function textPhrase(error: ErrorObject): Phrase {
  const { keyword, params, data } = error
  if (keyword !== 'type') return phrase(error)
  if (Array.isArray(data)) return { code: 'wrong_type', rule: 'must be sent once' }
  return {
    code: 'wrong_type',
    rule: params.type === 'boolean' ? 'must be true or false' : `must be ${typeNames(params.type)}`,
  }
}

const PHRASES: Readonly<Record<string, (error: ErrorObject) => Phrase>> = {
  type: ({ params, data, parentSchema }) => {
    const allowed = allowedBy(parentSchema)
    if (allowed !== undefined) return oneOf(allowed, data)
    const advice = params.type === 'string' && typeof data === 'number' ? ': put it in quotes' : ''
    return { code: 'wrong_type', rule: `must be ${typeNames(params.type)}, not ${typeOf(data)}${advice}` }
  },
  enum: ({ params, data }) => oneOf(params.allowedValues, data),
  const: ({ params }) => ({ code: 'not_allowed', rule: `must be ${JSON.stringify(params.allowedValue)}` }),
  format: ({ params }) => ({
    code: 'invalid_format',
    rule: FORMATS[params.format] ?? `must be of the format ${params.format}`,
  }),
  pattern: ({ params }) => ({ code: 'invalid_format', rule: `must match ${params.pattern}` }),
  minLength: ({ params }) => ({ code: 'too_short', rule: `must have at least ${count(params.limit, 'character')}` }),
  maxLength: ({ params }) => ({ code: 'too_long', rule: `must have at most ${count(params.limit, 'character')}` }),
  minItems: ({ params }) => ({ code: 'too_few', rule: `must have at least ${count(params.limit, 'item')}` }),
  maxItems: ({ params }) => ({ code: 'too_many', rule: `must have at most ${count(params.limit, 'item')}` }),
  uniqueItems: () => ({ code: 'duplicate', rule: 'must not contain the same item twice' }),
  minProperties: ({ params }) => ({ code: 'too_few', rule: `must have at least ${count(params.limit, 'field')}` }),
  maxProperties: ({ params }) => ({ code: 'too_many', rule: `must have at most ${count(params.limit, 'field')}` }),
  minimum: ({ params }) => ({ code: 'too_small', rule: `must be at least ${params.limit}` }),
  maximum: ({ params }) => ({ code: 'too_large', rule: `must be at most ${params.limit}` }),
  exclusiveMinimum: ({ params }) => ({ code: 'too_small', rule: `must be more than ${params.limit}` }),
  exclusiveMaximum: ({ params }) => ({ code: 'too_large', rule: `must be less than ${params.limit}` }),
  multipleOf: ({ params }) => ({ code: 'invalid', rule: `must be a multiple of ${params.multipleOf}` }),
  anyOf: alternatives,
  oneOf: alternatives,
}

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': 'must be an ISO 8601 time with a time zone, such as 2026-01-31T12:00:00.000Z',
  uri: 'must be a URL, such as https://example.com/a',
}

function oneOf(allowed: readonly unknown[], data: unknown): Phrase {
  const meant = typeof data === 'string' ? closest(data, allowed.map(String)) : undefined
  return {
    code: 'not_allowed',
    rule: `must be one of ${listed(allowed)}${meant === undefined ? '' : ` (did you mean ${meant}?)`}`,
  }
}

function listed(allowed: readonly unknown[]): string {
  return allowed.filter((value) => value !== null).join(', ')
}

function allowedBy(schema: unknown): readonly unknown[] | undefined {
  return (schema as { enum?: readonly unknown[] } | undefined)?.enum
}

function propertiesOf(error: ErrorObject): Readonly<Record<string, unknown>> {
  return (error.parentSchema as { properties?: Record<string, unknown> } | undefined)?.properties ?? {}
}

function alternatives({ schema }: ErrorObject): Phrase {
  const branches = Array.isArray(schema) ? (schema as { const?: unknown; type?: string }[]) : []
  if (branches.length > 0 && branches.every((branch) => 'const' in branch)) {
    return oneOf(
      branches.map((branch) => branch.const),
      undefined,
    )
  }
  return { code: 'invalid', rule: 'must match one of the forms in the API reference' }
}

/**
 * The errors of single branches of an alternative are dropped: they are less informative than the error that none
 * matches.
 */
function withoutBranches(errors: readonly ErrorObject[]): ErrorObject[] {
  const parents = errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')
  if (parents.length === 0) return [...errors]
  const prefixes = parents.map((parent) => ({ schema: `${parent.schemaPath}/`, instance: parent.instancePath }))
  return errors.filter(
    (error) =>
      !prefixes.some(
        ({ schema, instance }) => error.schemaPath.startsWith(schema) && error.instancePath.startsWith(instance),
      ),
  )
}

function typeNames(types: string | readonly string[]): string {
  return [types].flat().map(named).join(' or ')
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return named(Array.isArray(value) ? 'array' : typeof value)
}

function named(type: string): string {
  if (type === 'null') return 'null'
  if (type === 'integer') return 'a whole number'
  return `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`
}

function count(limit: number, noun: string): string {
  return `${limit} ${noun}${limit === 1 ? '' : 's'}`
}
