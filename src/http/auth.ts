/**
 * Authenticates a request before its body is read: bearer token (RFC 6750), rate, scope, in this order. Unknown,
 * expired, revoked and foreign keys get the same response. Invariant: no amount of failed requests of one client blocks
 * a valid key, not even from the same address.
 */
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { BursarError } from '../core/errors.ts'
import { allows } from '../core/scopes.ts'
import type { Scope } from '../declarations.ts'
import type { Authenticator, Caller } from './caller.ts'
import { AuthenticationFailed, ScopeMissing } from './http-errors.ts'
import type { RateLimit } from './rate-limit.ts'

/** b64token of RFC 6750 § 2.1, up to a length that no key of Bursar has. */
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]{1,512}=*)$/i

export type Gate = { readonly authenticator: Authenticator; readonly rateLimit: RateLimit }

/** Undefined lets the request pass. */
type Refusal = BursarError | undefined

/** The token that a request presents. */
export function bearerOf({ headers: { authorization } }: FastifyRequest): string | undefined {
  return authorization === undefined ? undefined : BEARER.exec(authorization)?.[1]
}

/** The `onRequest` hook of one route. Cached keys pass without a promise. */
export function requireScope(scope: Scope, { authenticator, rateLimit }: Gate): onRequestHookHandler {
  function admit(caller: Caller, request: FastifyRequest, reply: FastifyReply): Refusal {
    const limited = rateLimit.admit(caller.keyId, reply)
    if (limited !== null) return limited
    request.authenticated = caller
    if (allows(caller.scopes, scope)) return undefined
    reply.header('www-authenticate', `Bearer realm="bursar", error="insufficient_scope", scope="${scope}"`)
    return new ScopeMissing(scope)
  }

  function refuse(code: AuthenticationFailed['code'], request: FastifyRequest, reply: FastifyReply): Refusal {
    const limited = rateLimit.admitFailure(request.ip)
    if (limited !== null) return limited
    const error = code === 'api_key_invalid' ? ', error="invalid_token"' : ''
    reply.header('www-authenticate', `Bearer realm="bursar"${error}`)
    return new AuthenticationFailed(code)
  }

  async function verify(token: string, request: FastifyRequest, reply: FastifyReply): Promise<Refusal> {
    const caller = await authenticator.verify(token)
    return caller === null ? refuse('api_key_invalid', request, reply) : admit(caller, request, reply)
  }

  function judge(request: FastifyRequest, reply: FastifyReply): Refusal | Promise<Refusal> {
    const { authorization } = request.headers
    const token = bearerOf(request)
    const known = token === undefined ? undefined : authenticator.recall(token)
    if (known !== undefined) return admit(known, request, reply)
    // A plausible key is looked up however often its address has failed: other clients may share the address.
    if (token !== undefined) return verify(token, request, reply)
    return refuse(authorization ? 'api_key_invalid' : 'api_key_missing', request, reply)
  }

  return (request, reply, done) => {
    const verdict = judge(request, reply)
    if (verdict instanceof Promise) verdict.then(done, done)
    else done(verdict)
  }
}

/**
 * The `onRequest` hook of a public route that is rate-limited by address. @param cost the number of requests it counts
 * as
 */
export function limitByAddress({ rateLimit }: Gate, cost = 1): onRequestHookHandler {
  return (request, reply, done) => done(rateLimit.admitAddress(request.ip, reply, cost) ?? undefined)
}
