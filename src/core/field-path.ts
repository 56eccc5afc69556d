/** The notation for a place in a request: `to`, `metadata.image`, `items[2].to`. */

/** @param path member names, and indexes as numbers; the root is the empty string */
export function fieldPath(path: readonly (string | number)[]): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else text += text === '' ? printable(step) : `.${printable(step)}`
  }
  return text
}

/** The steps of a JSON pointer (RFC 6901) into `root`; a step into an array is a number. */
export function stepsOf(pointer: string, root: unknown): (string | number)[] {
  if (pointer === '') return []
  let at = root
  return pointer
    .slice(1)
    .split('/')
    .map((encoded) => {
      const name = encoded.replaceAll('~1', '/').replaceAll('~0', '~')
      const step = Array.isArray(at) ? Number(name) : name
      at = typeof at === 'object' && at !== null ? (at as Record<string | number, unknown>)[step] : undefined
      return step
    })
}

/**
 * A field name that the caller chose may be long or contain anything: it is truncated, and unprintable characters
 * become `?`.
 */
function printable(name: string): string {
  const shown = name.length > 64 ? `${name.slice(0, 64)}…` : name
  return shown.replace(/[\p{Cc}\p{Cs}\p{Cf}]/gu, '?')
}
