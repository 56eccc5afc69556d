/** The value types of settings, each with its rule as text. */
import { type StringOptions, Type } from '@sinclair/typebox'

export const milliseconds = (range: { minimum: number; maximum: number; default: number }, description: string) =>
  Type.Integer({ ...range, description: `${description} In milliseconds.` })

export const text = (pattern: string, rule: string, options: StringOptions) =>
  Type.Optional(Type.String({ ...options, pattern, 'x-rule': rule }))

export const list = (pattern: string, rule: string, options: StringOptions) =>
  Type.Optional(Type.Array(Type.String({ pattern }), { ...options, 'x-rule': rule }))

export const word = <const Words extends readonly string[]>(words: Words, options: StringOptions) =>
  Type.Unsafe<Words[number]>(
    Type.String({
      ...options,
      pattern: `^(${words.join('|')})$`,
      'x-rule': `must be ${words.join(', ').replace(/, ([^,]*)$/, ' or $1')}`,
    }),
  )
