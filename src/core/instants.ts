/** Times of rows in one form, whether they were read from a table or written by a projection. */

/** As `Date.prototype.toISOString` writes it. */
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** ISO 8601 UTC with milliseconds. */
export function toIso(time: Date | string): string {
  // Events contain times in this form, and public events repeat many of them.
  if (typeof time === 'string' && ISO.test(time)) return time
  return typeof time === 'string' ? new Date(time).toISOString() : time.toISOString()
}
