/** Reads one setting from text by its schema, and reports an invalid value in one line. */
import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

/** A longer excerpt of a value does not help to find it. */
const LONGEST_SHOWN = 80

export type Reading = { readonly value: unknown } | { readonly problem: string }

/**
 * @param text as the environment has it; undefined or empty means unset
 * @returns the value, its default, or undefined for an optional setting that is unset
 */
export function readSetting(name: string, schema: TSchema, text: string | undefined): Reading {
  const given = text?.trim() ?? ''
  if (given === '') return { value: schema.default as unknown }
  const value = fromText(schema, given)
  if (Value.Check(schema, value)) return { value }
  return { problem: `${name} ${ruleOf(schema)}, not ${shown(schema, given)}` }
}

/** The rule of a value as text: `must be a whole number from 1 to 100`. */
export function ruleOf(schema: Readonly<Record<string, unknown>>): string {
  if (typeof schema['x-rule'] === 'string') return schema['x-rule']
  if (schema.type === 'integer') return `must be a whole number from ${schema.minimum} to ${schema.maximum}`
  if (schema.type === 'boolean') return 'must be true or false'
  return 'must be text'
}

function fromText(schema: TSchema, text: string): unknown {
  if (schema.type === 'integer') return /^-?\d{1,15}$/.test(text) ? Number(text) : text
  if (schema.type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  if (schema.type !== 'array') return text
  const items = text.split(',').map((item) => item.trim())
  return items.filter((item) => item !== '')
}

/** An invalid secret is not shown either: errors go to logs. */
function shown(schema: Readonly<Record<string, unknown>>, text: string): string {
  if (schema['x-secret'] === true) return 'the value given (hidden)'
  return JSON.stringify(text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text)
}
