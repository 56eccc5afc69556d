/**
 * The HTTP part of idempotency: reads the key and computes the digest that distinguishes a repeated request from another request
 * with the same key. The event log keeps both permanently and answers a replay.
 */
import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest, preValidationHookHandler } from 'fastify'
import { ValidationFailed } from '../core/errors.ts'

/** Characters of an idempotency key. */
export const MAX_KEY_LENGTH = 255
/** Visible ASCII, which proxies and logs do not change. */
export const KEY_PATTERN = '^[!-~]+$'

const KEY = new RegExp(KEY_PATTERN)

/**
 * The `preValidation` hook of one route. It runs before defaults are filled in, so that the digest covers what the
 * caller sent, and a default that changes in a later version does not turn a replay into another request.
 *
 * @param route method and path template: `POST /v1/wallets/create`
 */
export function readIdempotencyKey(route: string): preValidationHookHandler {
  return (request, _reply, done) => {
    const key = request.headers['idempotency-key']
    if (typeof key === 'string' && key.length <= MAX_KEY_LENGTH && KEY.test(key)) {
      request.idempotency = { key, fingerprint: fingerprintOf(route, request) }
      done()
    } else {
      done(key === undefined ? undefined : invalidKey())
    }
  }
}

function invalidKey(): ValidationFailed {
  const rule = `Idempotency-Key must be 1 to ${MAX_KEY_LENGTH} visible ASCII characters, sent once.`
  return ValidationFailed.field('Idempotency-Key', 'invalid_idempotency_key', rule)
}

/** Marks the response as a replay of an earlier request with the same key. */
export function markReplayed(reply: FastifyReply): void {
  reply.header('idempotency-replayed', 'true')
}

/**
 * SHA-256, hex, of the route, its parameters, the environment of the API key and the body; the order of members does
 * not matter. The environment is part of the request even when the body does not name it.
 */
function fingerprintOf(route: string, request: FastifyRequest): string {
  const place = `${route}\n${canonical(request.params)}\n${request.caller.environment}`
  return hash('sha256', `${place}\n${canonical(request.body ?? null)}`)
}

/**
 * One text for one JSON value: members sorted, numbers formatted as in RFC 8785 (as JavaScript does). The body parser
 * bounds the depth.
 */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = value as Readonly<Record<string, unknown>>
  let text = '{'
  for (const name of Object.keys(members).sort()) {
    text += `${text === '{' ? '' : ','}${JSON.stringify(name)}:${canonical(members[name])}`
  }
  return `${text}}`
}
