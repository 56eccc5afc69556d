/**
 * Authenticates a request before its body is read: bearer token (RFC 6750), address, rate, scope, requests of the day, in this
 * order. Unknown, expired, revoked and foreign keys get the same response. Invariant: no amount of failed requests of one client blocks
 * a valid key, not even from the same address.
 */
import type { FastifyReply, FastifyRequest, onRequestHookHandler, preValidationHookHandler } from 'fastify'
import type { BursarError } from '../core/errors.ts'
import type { Scope } from '../core/registry.ts'
import { allows } from '../core/scopes.ts'
import type { Authenticator, Caller } from './caller.ts'
import { AddressNotAllowed, AuthenticationFailed, ScopeMissing } from './http-errors.ts'
import type { RateLimit } from './rate-limit.ts'

/** b64token of RFC 6750 § 2.1, up to a length that no key of Bursar has. */
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]{1,512}=*)$/i

/** `invalid`: unknown, expired or revoked. `limit`: what it may spend, or its requests a day. */
export type KeyRefusal = 'missing' | 'invalid' | 'address' | 'scope' | 'limit'

export type Gate = {
  readonly authenticator: Authenticator
  readonly rateLimit: RateLimit
  /** As `performance.now()`. */
  readonly timer: () => number
  readonly countRefusal: (reason: KeyRefusal) => void
  /** Called for what all other checks let in: a request that these refuse does not count. */
  readonly countRequest: (caller: Caller, requestId: string) => Refusal | Promise<Refusal>
}

/** A scope, or any key. */
export type Access = Scope | 'any'

/** Undefined lets the request pass. */
type Refusal = BursarError | undefined

type Judge = {
  /** Checks what a known caller may do, and remembers it as that of the request. */
  readonly judge: (caller: Caller, request: FastifyRequest, reply: FastifyReply) => Refusal
  readonly refuse: (code: AuthenticationFailed['code'], request: FastifyRequest, reply: FastifyReply) => Refusal
}

/** The token that a request presents. */
export function bearerOf({ headers: { authorization } }: FastifyRequest): string | undefined {
  return authorization === undefined ? undefined : BEARER.exec(authorization)?.[1]
}

/** The `onRequest` hook of one route. Cached keys pass without a promise. @param counts whether its requests are those of the day */
export function requireScope(access: Access, gate: Gate, counts: boolean): onRequestHookHandler {
  const { authenticator, rateLimit, countRequest } = gate
  const { judge, refuse } = judgeFor(access, gate)

  function admit(caller: Caller, request: FastifyRequest, reply: FastifyReply): Refusal | Promise<Refusal> {
    // Before its rate: who has a stolen key and not its address cannot use up the rate of its owner.
    const isElsewhere = caller.allowsAddress !== null && !caller.allowsAddress(request.ip)
    const limited = isElsewhere ? null : rateLimit.admit(caller.keyId, reply)
    const refusal = limited ?? judge(caller, request, reply)
    const isCounted = counts && refusal === undefined && caller.requestLimits.length > 0
    return isCounted ? countRequest(caller, request.id) : refusal
  }

  async function verify(token: string, request: FastifyRequest, reply: FastifyReply): Promise<Refusal> {
    const caller = await authenticator.verify(token)
    return caller === null ? refuse('api_key_invalid', request, reply) : admit(caller, request, reply)
  }

  function authenticate(request: FastifyRequest, reply: FastifyReply): Refusal | Promise<Refusal> {
    const { authorization } = request.headers
    const token = bearerOf(request)
    const known = token === undefined ? undefined : authenticator.recall(token)
    if (known !== undefined) return admit(known, request, reply)
    // A plausible key is looked up however often its address has failed: other clients may share the address.
    if (token !== undefined) return verify(token, request, reply)
    return refuse(authorization ? 'api_key_invalid' : 'api_key_missing', request, reply)
  }

  return (request, reply, done) => {
    const verdict = authenticate(request, reply)
    if (verdict instanceof Promise) verdict.then(done, done)
    else done(verdict)
  }
}

/**
 * The `preValidation` hook of routes with a body: a body that took its time must not carry a request past the revocation
 * of its key.
 */
export function requireStill(access: Access, gate: Gate): preValidationHookHandler {
  const { authenticator, timer } = gate
  const { judge, refuse } = judgeFor(access, gate)
  return (request, reply, done) => {
    if (timer() < request.caller.goodUntilMs) return done()
    authenticator
      .verify(bearerOf(request) ?? '')
      .then((caller) => (caller === null ? refuse('api_key_invalid', request, reply) : judge(caller, request, reply)))
      .then(done, done)
  }
}

function judgeFor(access: Access, { rateLimit, countRefusal }: Gate): Judge {
  return {
    judge(caller, request, reply) {
      if (caller.allowsAddress !== null && !caller.allowsAddress(request.ip)) {
        countRefusal('address')
        return rateLimit.admitFailure(request.ip) ?? new AddressNotAllowed(request.ip)
      }
      request.authenticated = caller
      if (access === 'any' || allows(caller.scopes, access)) return undefined
      countRefusal('scope')
      reply.header('www-authenticate', `Bearer realm="bursar", error="insufficient_scope", scope="${access}"`)
      return new ScopeMissing(access)
    },

    refuse(code, request, reply) {
      countRefusal(code === 'api_key_invalid' ? 'invalid' : 'missing')
      const limited = rateLimit.admitFailure(request.ip)
      if (limited !== null) return limited
      const error = code === 'api_key_invalid' ? ', error="invalid_token"' : ''
      reply.header('www-authenticate', `Bearer realm="bursar"${error}`)
      return new AuthenticationFailed(code)
    },
  }
}

/**
 * The `onRequest` hook of a public route that is rate-limited by address. @param cost the number of requests it counts
 * as
 */
export function limitByAddress({ rateLimit }: Gate, cost = 1): onRequestHookHandler {
  return (request, reply, done) => done(rateLimit.admitAddress(request.ip, reply, cost) ?? undefined)
}
