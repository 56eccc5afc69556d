/**
 * One text for one value: RFC 8785 (JCS) for the values that events hold (strings, integers, booleans, null, arrays,
 * objects), so that a hash of it is the same before and after storage as `jsonb`.
 */

/** @throws TypeError for values that JSON cannot hold exactly: a fraction, an unsafe integer, a bigint, a function */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value))
      throw new TypeError(`numbers in events must be whole; amounts must be strings: ${value}`)
    return JSON.stringify(value)
  }
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object') throw new TypeError(`not a JSON value: ${typeof value}`)
  let members = ''
  for (const key of Object.keys(value).sort()) {
    const member = (value as Record<string, unknown>)[key]
    if (member !== undefined) members += `${members === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(member)}`
  }
  return `{${members}}`
}
