/**
 * Verifies a delivery as its receiver should (Standard Webhooks 1.0.0, https://www.standardwebhooks.com), with the
 * secret. For receivers of the operator's own; others use a library of Standard Webhooks.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** How far the clocks of both sides may differ. An older delivery may be one that somebody captured. */
const TOLERANCE_MS = 5 * 60_000
const SECRET = /^whsec_([A-Za-z0-9+/]{32,86}={0,2})$/

/** @returns the key; `null` for a text that is not a secret */
export function parseSecret(text: string): Buffer | null {
  const [, base64] = SECRET.exec(text) ?? []
  return base64 === undefined ? null : Buffer.from(base64, 'base64')
}

/**
 * @param body exactly as it was received
 * @param now ms since 1970
 * @returns why the delivery must be refused; `null` if it is genuine
 */
export function whyRefused(secret: Uint8Array, headers: IncomingHttpHeaders, body: string, now: number): string | null {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string')
    return 'webhook-id, webhook-timestamp or webhook-signature is missing'
  if (!(Math.abs(now - Number(timestamp) * 1_000) <= TOLERANCE_MS))
    return 'webhook-timestamp differs from the present time by more than 5 minutes'
  const expected = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest()
  const isSigned = signatures.split(' ').some((signature) => {
    const given = signature.startsWith('v1,') ? Buffer.from(signature.slice(3), 'base64') : Buffer.alloc(0)
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
  return isSigned ? null : 'no signature in webhook-signature matches the secret and the body'
}
