/** Parses a time in the past, as given in a query for the state at that time. */
import { ValidationFailed } from './errors.ts'
import { toInstant } from './ids.ts'

/**
 * @param now epoch milliseconds
 * @throws ValidationFailed `invalid_time` or `time_in_future`, for the field `at`
 */
export function readPastTime(text: string, now: number): Date {
  const time = Date.parse(text)
  if (Number.isNaN(time)) {
    throw ValidationFailed.field('at', 'invalid_time', 'at must be an ISO 8601 time, such as 2026-01-31T12:00:00.000Z.')
  }
  if (time > now) {
    const message = `at is in the future (the current time is ${toInstant(now)}): use a time in the past, or omit at.`
    throw ValidationFailed.field('at', 'time_in_future', message)
  }
  return new Date(Math.max(0, time)) // Nothing was recorded before 1970, and the database has no year 0.
}
