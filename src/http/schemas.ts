/**
 * Schemas of fields shared by many routes. Each has a rule as text, for error messages and the reference. Request
 * objects are closed: an unknown field is refused, never ignored.
 */
import {
  type ObjectOptions,
  type Static,
  type StringOptions,
  type TProperties,
  type TSchema,
  Type,
} from '@sinclair/typebox'
import { idPattern } from '../core/ids.ts'
import { AMOUNT_PATTERN } from '../core/money.ts'
import { ENVIRONMENTS, NETWORKS } from '../core/networks.ts'
import type { IdPrefix } from '../core/registry.ts'

/** A request object: unknown fields are refused. */
export function closedObject<Properties extends TProperties>(properties: Properties, options: ObjectOptions = {}) {
  return Type.Object(properties, { ...options, additionalProperties: false })
}

/** An enum of strings. Errors list the values. */
export function oneOf<const Values extends readonly string[]>(values: Values, options: StringOptions = {}) {
  return Type.Unsafe<Values[number]>({ ...options, type: 'string', enum: [...values] })
}

/** A nullable response value. */
export function nullable<Schema extends TSchema>(schema: Schema) {
  const values = schema.enum as readonly unknown[] | undefined
  return Type.Unsafe<Static<Schema> | null>({
    ...schema,
    nullable: true,
    ...(values ? { enum: [...values, null] } : {}),
  })
}

/**
 * Invisible characters of the first plane, and unpaired surrogates. Spelled out instead of Unicode properties, because
 * client generators in other languages read the pattern. The formats check the rest, and the normal form: see
 * core/plain-text.ts.
 */
const UNFIT_FOR_TEXT =
  '\\u00ad\\u034f\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u200c\\u200e\\u200f' +
  '\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\ud800-\\udfff'
/** Characters that a database cannot store, and those that could split a log line in two. */
const UNFIT_FOR_SEARCH = '\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\ud800-\\udfff'
const CONTROL = '\\u0000-\\u001f\\u007f-\\u009f'
const CONTROL_BUT_LINE_FEED = '\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f'

/**
 * Free text: emoji and every script are allowed, but no characters with which one label could pass for another. Stored
 * as sent.
 *
 * @param maxLength characters (code points)
 */
export function text(maxLength: number, options: StringOptions = {}) {
  return freeText(maxLength, CONTROL, { format: 'plain-text', unfit: 'control characters, line breaks' }, options)
}

/** As `text`, for ids that a caller chooses: without spaces at the start and the end. @param maxLength characters (code points) */
export function idText(maxLength: number, options: StringOptions = {}) {
  const kind = { format: 'plain-id', unfit: 'spaces at the start or the end, control characters, line breaks' }
  return freeText(maxLength, CONTROL, kind, options)
}

/** Free text of several lines separated by line feeds. @param maxLength characters (code points) */
export function multilineText(maxLength: number, options: StringOptions = {}) {
  const kind = { format: 'plain-lines', unfit: 'control characters other than line feeds' }
  return freeText(maxLength, CONTROL_BUT_LINE_FEED, kind, options)
}

/**
 * Text to search for in values stored by this and earlier versions, whose rules were wider. @param maxLength code
 * points
 */
export function searchText(maxLength: number, options: StringOptions = {}) {
  const length = options.minLength === undefined ? `at most ${maxLength}` : `${options.minLength} to ${maxLength}`
  return Type.String({
    ...options,
    maxLength,
    pattern: `^[^${UNFIT_FOR_SEARCH}]*$`,
    'x-rule': `must be text of ${length} characters, without control characters and line breaks`,
    'x-code': 'invalid_text',
  })
}

function freeText(
  maxLength: number,
  control: string,
  { format, unfit }: { readonly format: string; readonly unfit: string },
  options: StringOptions,
) {
  const length = options.minLength === undefined ? `at most ${maxLength}` : `${options.minLength} to ${maxLength}`
  return Type.String({
    ...options,
    maxLength,
    format,
    pattern: `^[^${control}${UNFIT_FOR_TEXT}]*$`,
    'x-rule':
      `must be text of ${length} characters in Unicode normalization form C, without ${unfit} or invisible characters other than ` +
      'the zero width joiner and variation selectors',
    'x-code': 'invalid_text',
  })
}

export const labelSchema = text(128, {
  description: 'A name for your own use, at most 128 characters.',
  examples: ['Treasury 🏦'],
})

export const networkSchema = oneOf(NETWORKS, { description: 'The blockchain network.', examples: ['ethereum'] })

export const environmentSchema = oneOf(ENVIRONMENTS, {
  description:
    'The environment. An API key belongs to one environment, which is the default. A request that names the other one is refused.',
  examples: ['mainnet'],
})

/** `parseAmount` checks its decimals against the asset. 78 digits hold 2^256; the fraction may have as many. */
export const amountSchema = Type.String({
  description: 'A decimal string in whole units of the asset, such as `"1.5"`. Amounts are never rounded.',
  examples: ['1.5'],
  pattern: AMOUNT_PATTERN,
  maxLength: 157,
  'x-rule': 'must be a decimal string such as "1.5": digits, no sign, no exponent, no leading zeros',
  'x-code': 'invalid_amount',
})

/** Its checksum is verified when it is used. */
export const addressSchema = Type.String({
  description: 'A blockchain address. If it has upper- and lower-case letters, its EIP-55 checksum must be correct.',
  examples: ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8'],
  pattern: '^0x[0-9a-fA-F]{40}$',
  'x-rule': 'must be an address: 0x and 40 hexadecimal digits',
  'x-code': 'invalid_address',
})

/** A time. Requests may use any time zone; responses use UTC with milliseconds. */
export function instant(description: string) {
  return Type.String({ format: 'date-time', description, examples: ['2026-01-31T12:00:00.000Z'] })
}

/** Why something failed. @param example an error code of this kind, and its message */
export function failure(description: string, example: { readonly code: string; readonly message: string }) {
  return Type.Object(
    {
      code: Type.String({ description: 'A stable error code.', examples: [example.code] }),
      message: Type.String({ description: 'The reason, for people.', examples: [example.message] }),
    },
    { description },
  )
}

/**
 * Things that the caller may not have intended. They do not stop the request. @param field whether a warning names a
 * request field
 */
export function warnings(
  description: string,
  example: { readonly code: string; readonly message: string; readonly field: string },
) {
  return Type.Array(
    Type.Object({
      code: Type.String({ description: 'A stable code.', examples: [example.code] }),
      message: Type.String({ description: 'The warning, for people.', examples: [example.message] }),
      field: Type.String({ description: 'The request field that it is about.', examples: [example.field] }),
    }),
    { description },
  )
}

/** An id of Bursar. A malformed path parameter gets 404. */
export function idSchema(prefix: IdPrefix, description: string) {
  return Type.String({
    description,
    pattern: idPattern(prefix),
    examples: [`${prefix}_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11`],
    'x-rule': `must be an id that begins with ${prefix}_`,
    'x-code': 'invalid_id',
  })
}
