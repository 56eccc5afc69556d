/** Reads the values of options by type. */
import { BadInput, type CliOptions } from './command.ts'

/** The value of an option; `undefined` when it was omitted. */
export function textOf(value: CliOptions[string]): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The values of a repeatable option, each once. */
export function listOf(value: CliOptions[string]): readonly string[] {
  return Array.isArray(value) ? [...new Set(value)] : []
}

/**
 * The value of `--limit`.
 *
 * @throws BadInput
 */
export function limitOf(value: CliOptions[string], { byDefault, most }: { byDefault: number; most: number }): number {
  if (value === undefined) return byDefault
  const limit = /^[1-9]\d*$/.test(String(value)) ? Number(value) : 0
  if (limit < 1 || limit > most) throw new BadInput(`--limit must be a number from 1 to ${most}`)
  return limit
}
