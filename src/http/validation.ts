/**
 * Compiles route schemas into validators that report every failing field. Bodies are not changed: no coercion, no
 * dropped fields. Query strings are text, so their numbers and booleans are parsed.
 */
import { Ajv, type AnySchema, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import type { FastifySchemaCompiler } from 'fastify'
import { ValidationFailed } from '../core/errors.ts'
import { paddingOf, unfitIn } from '../core/plain-text.ts'
import { isImageUri, isWebAddress } from '../core/published-uris.ts'
import { COMPONENT, SHAPES } from './components.ts'
import { notFoundById } from './storable-url.ts'
import { itemsOf } from './validation-items.ts'

/**
 * Custom keywords: `x-rule` is a pattern's rule as text, `x-code` the error code of a value that fails it. The others
 * are for the API document.
 */
const ANNOTATIONS = ['x-rule', 'x-code', 'example', COMPONENT, SHAPES]

/** For bodies with more values only the first error is reported, to keep refusals cheap. */
const MAX_VALUES_EXPLAINED = 20_000

/** Between these times the ISO 8601 text in UTC has a four-digit year, so texts sort as times do. */
const FIRST_INSTANT_MS = Date.parse('0000-01-01T00:00:00.000Z')
const LAST_INSTANT_MS = Date.parse('9999-12-31T23:59:59.999Z')

/** Fastify's result type: passed, passed with a replaced value, or refused. */
type Validated = true | { readonly value: object } | { readonly error: Error }
type Validate = (value: unknown) => Validated

/** One compiler per application, with its cache of validators. */
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
    // 2.55 is a multiple of 0.01 for a caller, although not in binary floating point.
    multipleOfPrecision: 9,
    // Includes values and schemas in the error objects; only refused requests pay for it.
    verbose: true,
  })
  ajv.addVocabulary(ANNOTATIONS)
  addFormats.default(ajv)
  ajv.addFormat('date-time', isInstant(ajv.formats['date-time']))
  ajv.addFormat('image-uri', isImageUri)
  ajv.addFormat('plain-text', (text) => unfitIn(text, { lineFeeds: false }) === null)
  ajv.addFormat('plain-id', (text) => unfitIn(text, { lineFeeds: false }) === null && paddingOf(text) === null)
  ajv.addFormat('search-id', (text) => paddingOf(text) === null)
  ajv.addFormat('plain-lines', (text) => unfitIn(text, { lineFeeds: true }) === null)
  ajv.addFormat('web-address', isWebAddress)
  return ajv
}

/** What RFC 3339 allows, without leap seconds, offsets without minutes, and years after 9999 in UTC. */
function isInstant(rfc3339: unknown): (text: string) => boolean {
  const { validate } = rfc3339 as { readonly validate: (text: string) => boolean }
  return (text) => {
    const ms = validate(text) ? Date.parse(text) : Number.NaN
    return ms >= FIRST_INSTANT_MS && ms <= LAST_INSTANT_MS
  }
}

/** Stops at the first error on the hot path; only a refused body is validated again to list all errors. */
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

/** A missing body is treated as an empty object if no field is required, so that defaults are filled in. */
function withoutBody(validate: ValidateFunction): Validated {
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

/** Whether a value has at most `limit` values; stops counting at the limit. */
function hasAtMost(limit: number, value: unknown): boolean {
  let left = limit
  function count(part: unknown): boolean {
    if (left-- <= 0) return false
    return typeof part !== 'object' || part === null || Object.values(part).every(count)
  }
  return count(value)
}
