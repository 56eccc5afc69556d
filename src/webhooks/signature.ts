/**
 * Signs deliveries as Standard Webhooks 1.0.0 says (https://www.standardwebhooks.com): the signed content is the id,
 * the time of the attempt and the body, so that a captured delivery cannot be replayed later or for another event.
 */
import { createHmac, type KeyObject, sign } from 'node:crypto'

/** What an endpoint's deliveries are signed with: during a rotation, the old secret and the new one. */
export type SigningKeys = {
  /** 24 to 64 bytes each, newest first. */
  readonly secrets: readonly Uint8Array[]
  /** Ed25519 private keys, newest first; none unless the endpoint requests `v1a`. */
  readonly ed25519: readonly KeyObject[]
}

export type SignedHeaders = {
  readonly 'webhook-id': string
  readonly 'webhook-timestamp': string
  readonly 'webhook-signature': string
}

/**
 * The signed content separates its parts by full stops, so that an id with one in it would be ambiguous: each becomes a
 * hyphen. The body has the id unchanged.
 */
function headerId(eventId: string): string {
  return eventId.replaceAll('.', '-')
}

/**
 * @param at the time of the attempt, ms since 1970
 * @param body exactly as it is sent
 */
export function signDelivery(keys: SigningKeys, eventId: string, at: number, body: string): SignedHeaders {
  const id = headerId(eventId)
  const timestamp = String(Math.floor(at / 1_000))
  const content = `${id}.${timestamp}.${body}`
  const symmetric = keys.secrets.map((secret) => `v1,${createHmac('sha256', secret).update(content).digest('base64')}`)
  const asymmetric = keys.ed25519.map((key) => `v1a,${sign(null, Buffer.from(content), key).toString('base64')}`)
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': [...symmetric, ...asymmetric].join(' '),
  }
}
