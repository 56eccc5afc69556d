/** The format of identifiers: a prefix for the kind of resource and a UUIDv7 (RFC 9562). They sort by creation time. */

/** A clock, passed in: milliseconds since the epoch. */
export type Clock = () => number

/** ISO 8601 UTC with milliseconds. */
export function toInstant(epochMs: number): string {
  return new Date(epochMs).toISOString()
}

const uuidPattern = (version: 7 | 8) => `[0-9a-f]{8}-[0-9a-f]{4}-${version}[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`
const UUID = uuidPattern(7)

/** A regular expression source for ids with a prefix. */
export function idPattern(prefix: string): string {
  return `^${prefix}_${UUID}$`
}

/** The same for ids that are derived from what they name: their UUID has version 8 and no time. */
export function derivedIdPattern(prefix: string): string {
  return `^${prefix}_${uuidPattern(8)}$`
}

const TIME_DIGITS = 12

/** The creation time of an id in ms since the epoch; `undefined` for any other text. */
export function idTime(id: string): number | undefined {
  const [uuid] = new RegExp(`${UUID}$`).exec(id) ?? []
  return uuid === undefined ? undefined : Number.parseInt(uuid.replace('-', '').slice(0, TIME_DIGITS), 16)
}

/** Sorts before every id that is created at this time or later, and after all that were created before. @param at ms since the epoch */
export function earliestIdAt(prefix: string, at: number): string {
  const digits = Math.max(0, at).toString(16).padStart(TIME_DIGITS, '0')
  return `${prefix}_${digits.slice(0, 8)}-${digits.slice(8)}`
}
