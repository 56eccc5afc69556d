/** Times of rows in one form, whether they were read from a table or written by a projection. */

/** ISO 8601 UTC with milliseconds. */
export function toIso(time: Date | string): string {
  return typeof time === 'string' ? new Date(time).toISOString() : time.toISOString()
}
