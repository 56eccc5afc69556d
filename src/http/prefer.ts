/** RFC 7240: how long a caller waits for a result before it accepts a pending one. */
import type { FastifyReply, FastifyRequest } from 'fastify'

/** No request waits longer. */
const MAX_WAIT_SECONDS = 60

export type Preference = {
  /** Milliseconds that the caller asks to wait, at most 60,000; null when it does not say. */
  readonly waitMs: number | null
  /** The value of `Preference-Applied`; null when no preference applies. */
  readonly applied: string | null
}

const ASYNC: Preference = { waitMs: 0, applied: 'respond-async' }
const NONE: Preference = { waitMs: null, applied: null }

/**
 * Parses `Prefer`. `respond-async` alone means not to wait; with `wait=N` it means to wait N seconds and then return
 * the current state, which `wait=N` alone means here too. Unknown or malformed preferences are ignored, and the first
 * of a repeated one counts, as the RFC requires.
 */
export function preferenceOf(request: FastifyRequest): Preference {
  const header = request.headers.prefer
  if (header === undefined) return NONE
  if (header === 'respond-async') return ASYNC
  let wait: number | null = null
  let respondAsync = false
  for (const preference of String(header).split(',')) {
    const [name = '', value] = (preference.split(';')[0] ?? '').split('=').map((part) => part.trim())
    if (name.toLowerCase() === 'respond-async') respondAsync = true
    if (name.toLowerCase() === 'wait') wait ??= seconds(value)
  }
  if (wait === null) return respondAsync ? ASYNC : NONE
  return { waitMs: wait * 1_000, applied: `${respondAsync ? 'respond-async, ' : ''}wait=${wait}` }
}

/** Reports in the response which preferences were applied. */
export function applyPreference(reply: FastifyReply, preference: Preference): void {
  if (preference.applied !== null) reply.header('preference-applied', preference.applied)
}

function seconds(value: string | undefined): number | null {
  const digits = /^"?(\d{1,9})"?$/.exec(value ?? '')?.[1]
  return digits === undefined ? null : Math.min(Number(digits), MAX_WAIT_SECONDS)
}
