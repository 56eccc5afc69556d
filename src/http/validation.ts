/**
 * Compiles route schemas into validators that refuse with every failing field. Bodies are taken as they are: nothing is
 * coerced, nothing is dropped. Query strings carry text only, so their numbers and booleans are read from text.
 */
import { Ajv, type AnySchema, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import type { FastifySchemaCompiler } from 'fastify'
import { ValidationFailed } from '../core/errors.ts'
import { unfitIn } from '../core/plain-text.ts'
import { isImageUri, isWebAddress } from '../core/published-uris.ts'
import { COMPONENT, SHAPES } from './components.ts'
import { notFoundById } from './storable-url.ts'
import { itemsOf } from './validation-items.ts'

/** Our own keywords: `x-rule` states a pattern in words, `x-code` is the error code of a value that fails it. The document reads the rest. */
const ANNOTATIONS = ['x-rule', 'x-code', 'example', COMPONENT, SHAPES]

/** With more values than this a body is told its first mistake only, so that listing mistakes stays cheap. */
const MAX_VALUES_EXPLAINED = 20_000

/** Of every time between these the ISO 8601 text in UTC has four digits for the year, so that texts sort as times do. */
const FIRST_INSTANT_MS = Date.parse('0000-01-01T00:00:00.000Z')
const LAST_INSTANT_MS = Date.parse('9999-12-31T23:59:59.999Z')

/** As Fastify takes it: passed, passed with another value in its place, or refused. */
type Verdict = true | { readonly value: object } | { readonly error: Error }
type Validate = (value: unknown) => Verdict

/** One compiler per application: its validators are cached with it. */
export function createValidatorCompiler(): FastifySchemaCompiler<AnySchema> {
  const strict = createAjv({ allErrors: false, coerceTypes: false })
  const explaining = createAjv({ allErrors: true, coerceTypes: false })
  const coercing = createAjv({ allErrors: true, coerceTypes: true })
  return ({ schema, httpPart }) => {
    if (httpPart === 'params') return paramsValidator(coercing.compile(schema))
    if (httpPart === 'querystring') return textValidator(coercing.compile(schema), 'query parameter')
    if (httpPart === 'headers') return textValidator(coercing.compile(schema), 'header')
    return bodyValidator(strict.compile(schema), () => explaining.compile(schema))
  }
}

function createAjv(options: { allErrors: boolean; coerceTypes: boolean }): Ajv {
  const ajv = new Ajv({
    ...options,
    removeAdditional: false,
    useDefaults: true,
    allowUnionTypes: true,
    addUsedSchema: false,
    // 2.55 is a multiple of 0.01 to a caller, if not to a binary fraction.
    multipleOfPrecision: 9,
    // Values and schemas go into the error objects, which only refused requests pay for.
    verbose: true,
  })
  ajv.addVocabulary(ANNOTATIONS)
  addFormats.default(ajv)
  ajv.addFormat('date-time', isInstant(ajv.formats['date-time']))
  ajv.addFormat('image-uri', isImageUri)
  ajv.addFormat('plain-text', (text) => unfitIn(text, { lineFeeds: false }) === null)
  ajv.addFormat('plain-lines', (text) => unfitIn(text, { lineFeeds: true }) === null)
  ajv.addFormat('web-address', isWebAddress)
  return ajv
}

/** What RFC 3339 allows and a clock can show: no leap second, no offset without minutes, no year past 9999 in UTC. */
function isInstant(rfc3339: unknown): (text: string) => boolean {
  const { validate } = rfc3339 as { readonly validate: (text: string) => boolean }
  return (text) => {
    const ms = validate(text) ? Date.parse(text) : Number.NaN
    return ms >= FIRST_INSTANT_MS && ms <= LAST_INSTANT_MS
  }
}

/** Stops at the first mistake on the hot path; only a refused body is read again to list them all. */
function bodyValidator(validate: ValidateFunction, compileExplaining: () => ValidateFunction): Validate {
  let explaining: ValidateFunction | undefined
  return (body) => {
    if (validate(body)) return true
    if (body === null) return withoutBody(validate)
    explaining ??= compileExplaining()
    const explained = hasAtMost(MAX_VALUES_EXPLAINED, body) && !explaining(body)
    const errors = (explained ? explaining.errors : validate.errors) ?? []
    return { error: new ValidationFailed(itemsOf(errors, body, 'field')) }
  }
}

/** No body is an empty object where nothing in it is required, so that its defaults are filled in. */
function withoutBody(validate: ValidateFunction): Verdict {
  const value = {}
  if (validate(value)) return { value }
  return {
    error: new ValidationFailed([
      { code: 'body_required', message: 'The request requires a JSON object as its body.' },
    ]),
  }
}

function textValidator(validate: ValidateFunction, noun: 'query parameter' | 'header'): Validate {
  return (values) =>
    validate(values) ? true : { error: new ValidationFailed(itemsOf(validate.errors ?? [], values, noun)) }
}

function paramsValidator(validate: ValidateFunction): Validate {
  return (params) => {
    if (validate(params)) return true
    return { error: notFoundById(validate.errors?.[0]?.instancePath.slice(1) ?? '') }
  }
}

/** Whether a value holds at most `limit` values, counting no further than that. */
function hasAtMost(limit: number, value: unknown): boolean {
  let left = limit
  function count(part: unknown): boolean {
    if (left-- <= 0) return false
    return typeof part !== 'object' || part === null || Object.values(part).every(count)
  }
  return count(value)
}
