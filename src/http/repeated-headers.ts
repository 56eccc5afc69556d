/**
 * Refuses a request with a duplicate of a header that must be unique. Programs differ in which one they use: a gateway
 * that reads the first would check a different request from the one that is served.
 */
import type { onRequestHookHandler } from 'fastify'
import { RequestRefused } from './http-errors.ts'

/** All of different lengths, so that the length identifies the candidate. */
const SENT_ONCE = ['Host', 'Content-Type', 'Authorization', 'Content-Length', 'Idempotency-Key']
const BY_LENGTH = new Map(SENT_ONCE.map((name, index) => [name.length, { name: name.toLowerCase(), bit: 1 << index }]))

/** An `onRequest` hook. It reads the raw headers: Node silently keeps one of two. */
export const refuseRepeatedHeaders: onRequestHookHandler = (request, _reply, done) => {
  const repeated = firstRepeated(request.raw.rawHeaders)
  if (repeated === null) done()
  else done(new RequestRefused('duplicate_header', `The header ${repeated} is sent more than once: send it once.`))
}

/** @param rawHeaders names and values, alternating */
function firstRepeated(rawHeaders: readonly string[]): string | null {
  let seen = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const sent = rawHeaders[at] ?? ''
    const known = BY_LENGTH.get(sent.length)
    if (known === undefined || sent.toLowerCase() !== known.name) continue
    if ((seen & known.bit) !== 0) return SENT_ONCE[Math.log2(known.bit)] ?? sent
    seen |= known.bit
  }
  return null
}
