/**
 * Refuses unstorable text in a path or query before any route looks it up: an id with such text cannot exist; any other
 * parameter is named in the error.
 */
import type { preValidationHookHandler } from 'fastify'
import { type BursarError, NotFound, ValidationFailed } from '../core/errors.ts'
import { fieldPath } from '../core/field-path.ts'
import { whyUnstorable } from './storable-text.ts'

const MAX_TOLD = 100

/**
 * A `preValidation` hook. Only percent-encoded text can be unstorable: HTTP allows neither NUL nor bytes beyond ASCII
 * in a URL.
 */
export const refuseUnstorableUrl: preValidationHookHandler = (request, _reply, done) => {
  const { url } = request
  if (url.includes('%')) done(problemOf(url, request.params as Readonly<Record<string, string>>) ?? undefined)
  else done()
}

/** An id that cannot exist gets the same response as one that does not. @param name of the parameter */
export function notFoundById(name: string): NotFound {
  return new NotFound(name.endsWith('_id') ? name.slice(0, -'_id'.length) : 'resource')
}

function problemOf(url: string, params: Readonly<Record<string, string>>): BursarError | null {
  for (const [name, value] of Object.entries(params)) {
    const why = whyUnstorable(value)
    if (why === null) continue
    return name.endsWith('_id') ? notFoundById(name) : ValidationFailed.field(name, 'invalid_text', `${name} ${why}.`)
  }
  const query = url.indexOf('?')
  const items =
    query === -1
      ? []
      : url
          .slice(query + 1)
          .split('&')
          .flatMap(itemOf)
  return items.length === 0 ? null : new ValidationFailed(items.slice(0, MAX_TOLD))
}

/** @param pair `name=value` as sent */
function itemOf(pair: string): { field: string; code: string; message: string }[] {
  const decoded = decode(pair)
  const why = decoded === null ? 'must be UTF-8, percent-encoded' : whyUnstorable(decoded)
  if (why === null) return []
  const field = fieldPath([pair.split('=')[0] ?? ''])
  return [{ field, code: 'invalid_text', message: `${field} ${why}.` }]
}

/** Null when it is not percent-encoded UTF-8. */
function decode(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
