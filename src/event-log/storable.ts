/** What `jsonb` of PostgreSQL can store. */

/**
 * JSON writes exactly these characters as escapes. An escaped backslash may match too, which costs a second look and
 * changes nothing.
 */
const SUSPECT = /\\u(?:0000|d[89a-f])/

/**
 * The last check before an append. PostgreSQL's `jsonb` cannot store NUL or unpaired surrogates, and one event with
 * either would fail the append of all commits in its batch. Text of clients and third parties is checked on entry;
 * anything that passes is replaced by `storable`.
 *
 * @param json output of `JSON.stringify` or `canonicalJson`
 */
export function isStorable(json: string): boolean {
  return !SUSPECT.test(json)
}

/** The value with U+FFFD in place of each character that `jsonb` cannot store. */
export function storable<Value>(value: Value): Value {
  return replaced(value) as Value
}

function replaced(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('\0', '\ufffd').replace(/\p{Cs}/gu, '\ufffd')
  if (Array.isArray(value)) return value.map(replaced)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, replaced(member)]))
}
