/** Parses places in the log given by an operator. */
import { BadInput } from '../cli/command.ts'
import { toInstant } from '../core/ids.ts'

const POSITION = /^\d{1,19}$/
const LAST_POSITION = 2n ** 63n - 1n
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/

/**
 * A position of the log, or a past time.
 *
 * @param option its name, for the message
 * @throws BadInput
 */
export function readPlace(option: string, text: string, now: number): bigint | Date {
  if (POSITION.test(text)) {
    const position = BigInt(text)
    if (position >= 1n && position <= LAST_POSITION) return position
  }
  const time = INSTANT.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) {
    throw new BadInput(
      `${option} must be a position of the log, such as 1200, or a time with its zone, such as 2026-01-31T12:00:00Z: ${text} is neither.`,
    )
  }
  if (time > now) throw new BadInput(`${option} is in the future (the time is ${toInstant(now)}): use an earlier time.`)
  return new Date(time)
}
