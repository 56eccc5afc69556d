/**
 * The last guard before an append. PostgreSQL's `jsonb` holds neither NUL nor halves of surrogate pairs, and one event with
 * either would fail the append of all others that are committed with it. Text of clients and strangers is checked where it
 * enters; what slips through is replaced here.
 */

/** JSON writes exactly these as escapes. An escaped backslash may look the same, which costs a look and changes nothing. */
const SUSPECT = /\\u(?:0000|d[89a-f])/

/** @param json what `JSON.stringify` or `canonicalJson` made */
export function isStorable(json: string): boolean {
  return !SUSPECT.test(json)
}

/** The value with U+FFFD in the place of each character that `jsonb` cannot hold. */
export function storable<Value>(value: Value): Value {
  return replaced(value) as Value
}

function replaced(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('\0', '\ufffd').replace(/\p{Cs}/gu, '\ufffd')
  if (Array.isArray(value)) return value.map(replaced)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, replaced(member)]))
}
