/**
 * Enforces the quotas of each tenant after authentication: bytes and requests in flight on every route with a key, and
 * on a route with `config.quotas` what the request would add, with `config.rate` how often it is called. A refused request records nothing and is told the limits.
 * A request whose Idempotency-Key was accepted before gets the same response as then, regardless of quotas.
 */
import type { FastifyReply, FastifyRequest, RouteHandlerMethod, RouteOptions } from 'fastify'
import type { BursarError } from '../core/errors.ts'
import type { Clock } from '../core/ids.ts'
import type { Metadata } from '../core/messages.ts'
import { type LimitsOf, QuotaExceeded, type QuotaUse } from '../core/quotas.ts'
import type { CountedQuota, DeclaredQuotas, Quota, RateQuota } from '../core/registry.ts'
import type { App } from './request.ts'
import { metadataOf } from './request-metadata.ts'
import { createInFlight } from './requests-in-flight.ts'
import { createTenantRates } from './tenant-rates.ts'

/**
 * The quotas that a request uses, each once for every item that it adds: fixed for a route, or derived from its body;
 * `[]` for none.
 */
export type RouteQuotas = readonly CountedQuota[] | ((body: unknown) => readonly CountedQuota[])

declare module 'fastify' {
  interface FastifyContextConfig {
    quotas?: RouteQuotas
    /** The quota that limits how often a tenant calls the route. */
    rate?: RateQuota
    /** The rate limits what the handler says that calls use, and not their number. */
    measured?: true
  }
  interface FastifyRequest {
    /** On a measured route. */
    meter: Meter
  }
}

export type Meter = {
  /** @throws QuotaExceeded while the tenant has debt */
  readonly requireRoom: () => void
  /** Charges the tenant for so much. @returns ms until its debt is paid; 0 without */
  readonly use: (amount: number) => number
}

/** Of requests without a quota. */
export const UNLIMITED: Meter = { requireRoom: () => undefined, use: () => 0 }

type Admission =
  | { readonly admitted: true; readonly settle: (recorded: boolean) => void }
  | { readonly admitted: false; readonly used: number }

export type TenantQuotas = {
  readonly declared: DeclaredQuotas
  readonly limitsOf: LimitsOf
  /** Admits one more, or returns the current use. */
  readonly admit: (tenantId: string, quota: CountedQuota, limit: number) => Admission | Promise<Admission>
  /** What the idempotency key of a request created before; `null` for nothing. @throws IdempotencyKeyReused */
  readonly findReplay: (metadata: Metadata) => Promise<string | null>
  readonly countRefusal: (quota: Quota) => void
  readonly clock: Clock
}

type Done = (error?: Error) => void

/**
 * An `onRoute` hook. Add it before the one that authenticates, whose hook then runs first.
 *
 * @throws Error at start when a route that creates or spends does not declare its quotas
 */
export function enforceTenantQuotas(quotas: TenantQuotas): (route: RouteOptions) => void {
  const inFlight = createInFlight(
    (tenantId) => quotas.limitsOf(tenantId).requests_in_flight,
    (reply, use) => refusal(quotas, reply, use, 1),
  )
  const bytes = createBytes(quotas)
  const calls = createCalls(quotas)
  return (route) => {
    const { scope, idempotent, quotas: counted, rate, measured } = route.config ?? {}
    if (scope === undefined || scope === 'public') return
    if (idempotent && counted === undefined)
      throw new Error(`${String(route.method)} ${route.url} must state config.quotas: what it adds to, or []`)
    const own = rate === undefined ? [] : [measured ? calls.measure(rate) : calls.charge(rate, idempotent === true)]
    route.onRequest = [inFlight.begin, bytes.chargeRequest, ...own, ...[route.onRequest ?? []].flat()]
    route.onResponse = [inFlight.close, bytes.chargeAnswer, ...[route.onResponse ?? []].flat()]
    const handler = counted === undefined ? route.handler : withRoom(quotas, counted, route.handler)
    route.handler = inFlight.during(rate === undefined || measured ? handler : calls.chargeKeyed(rate, handler))
  }
}

/** Responds with the refusal: its headers report this quota instead of the key's rate. */
function refusal(
  { countRefusal, declared }: TenantQuotas,
  reply: FastifyReply,
  use: QuotaUse,
  retryAfterSeconds: number | null,
): QuotaExceeded {
  countRefusal(use.quota)
  reply.header('ratelimit-limit', use.limit)
  reply.header('ratelimit-remaining', Math.max(0, use.limit - use.used))
  if (retryAfterSeconds === null) reply.removeHeader('ratelimit-reset')
  else reply.header('ratelimit-reset', retryAfterSeconds).header('retry-after', retryAfterSeconds)
  return new QuotaExceeded(use, declared[use.quota], retryAfterSeconds)
}

/**
 * The handler, run once the quota has room. Runs after validation, so that an invalid request gets its validation
 * errors first.
 */
function withRoom(quotas: TenantQuotas, counted: RouteQuotas, handler: RouteHandlerMethod): RouteHandlerMethod {
  return async function run(this: App, request, reply) {
    const names = typeof counted === 'function' ? counted(request.body) : counted
    const settle = await admitAll(quotas, names, request, reply)
    let recorded = false
    try {
      const result = await handler.call(this, request, reply)
      recorded = reply.statusCode < 400 && !reply.hasHeader('idempotency-replayed')
      return result
    } finally {
      settle(recorded)
    }
  } as RouteHandlerMethod
}

async function admitAll(
  quotas: TenantQuotas,
  names: readonly CountedQuota[],
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<(recorded: boolean) => void> {
  const { tenantId } = request.caller
  const limits = quotas.limitsOf(tenantId)
  const settles: ((recorded: boolean) => void)[] = []
  const settleAll = (recorded: boolean) => {
    for (const settle of settles) settle(recorded)
  }
  try {
    for (const quota of names) {
      const limit = limits[quota]
      if (limit === 0) continue
      const admission = await quotas.admit(tenantId, quota, limit)
      if (admission.admitted) settles.push(admission.settle)
      else if ((await replayOf(quotas, request)) === null)
        throw refusal(
          quotas,
          reply,
          { quota, limit, used: admission.used },
          quotas.declared[quota].retryAfterSeconds ?? null,
        )
      // A repetition adds nothing.
      else break
    }
    return settleAll
  } catch (error) {
    settleAll(false)
    throw error
  }
}

async function replayOf({ findReplay }: TenantQuotas, request: FastifyRequest): Promise<string | null> {
  return request.idempotency === null ? null : findReplay(metadataOf(request))
}

/** Charges a tenant for the bodies that it sends and receives. A tenant in debt is refused before the body is read. */
function createBytes(quotas: TenantQuotas) {
  const rates = createTenantRates(quotas.clock)

  function judge(request: FastifyRequest, reply: FastifyReply): BursarError | undefined {
    const { tenantId } = request.caller
    const limit = quotas.limitsOf(tenantId).bytes_per_second
    if (limit === 0) return undefined
    const waitSeconds = rates.secondsInDebt(tenantId, limit)
    if (waitSeconds > 0) return refusal(quotas, reply, { quota: 'bytes_per_second', limit, used: limit }, waitSeconds)
    rates.charge(tenantId, limit, lengthOf(request.headers['content-length']))
    return undefined
  }

  return {
    chargeRequest: (request: FastifyRequest, reply: FastifyReply, done: Done) => done(judge(request, reply)),
    chargeAnswer(request: FastifyRequest, reply: FastifyReply, done: () => void) {
      if (request.authenticated !== null) {
        const { tenantId } = request.authenticated
        const limit = quotas.limitsOf(tenantId).bytes_per_second
        // A body without a length was not charged at the start: its size is known now.
        const read = request.headers['content-length'] === undefined ? lengthOf(request.bodyLength) : 0
        if (limit > 0) rates.charge(tenantId, limit, read + lengthOf(reply.getHeader('content-length')))
      }
      done()
    },
  }
}

/**
 * Counts each call of a route with a rate, before its body is read. A call with an Idempotency-Key is counted when its
 * request is known, because a repeated one is answered and not counted.
 */
function createCalls(quotas: TenantQuotas) {
  const rates = createTenantRates(quotas.clock)

  /** Seconds to wait if the tenant has debt. */
  function waitOf(quota: RateQuota, { caller: { tenantId } }: FastifyRequest): number {
    const limit = quotas.limitsOf(tenantId)[quota]
    return limit === 0 ? 0 : rates.secondsInDebt(`${quota} ${tenantId}`, limit)
  }

  function use(quota: RateQuota, { caller: { tenantId } }: FastifyRequest, amount: number): void {
    const limit = quotas.limitsOf(tenantId)[quota]
    if (limit > 0) rates.charge(`${quota} ${tenantId}`, limit, amount)
  }

  /** @returns seconds to wait if the tenant has debt; otherwise 0, and the call is counted */
  function count(quota: RateQuota, request: FastifyRequest): number {
    const waitSeconds = waitOf(quota, request)
    if (waitSeconds === 0) use(quota, request, 1)
    return waitSeconds
  }

  function refused(quota: RateQuota, request: FastifyRequest, reply: FastifyReply, waitSeconds: number): QuotaExceeded {
    const limit = quotas.limitsOf(request.caller.tenantId)[quota]
    return refusal(quotas, reply, { quota, limit, used: limit }, waitSeconds)
  }

  return {
    charge: (quota: RateQuota, isIdempotent: boolean) => (request: FastifyRequest, reply: FastifyReply, done: Done) => {
      if (isIdempotent && request.headers['idempotency-key'] !== undefined) return done()
      const waitSeconds = count(quota, request)
      done(waitSeconds === 0 ? undefined : refused(quota, request, reply, waitSeconds))
    },
    measure: (quota: RateQuota) => (request: FastifyRequest, reply: FastifyReply, done: Done) => {
      request.meter = {
        requireRoom() {
          const waitSeconds = waitOf(quota, request)
          if (waitSeconds > 0) throw refused(quota, request, reply, waitSeconds)
        },
        use(amount) {
          use(quota, request, amount)
          return waitOf(quota, request) * 1_000
        },
      }
      done()
    },
    chargeKeyed(quota: RateQuota, handler: RouteHandlerMethod): RouteHandlerMethod {
      return async function run(this: App, request, reply) {
        const waitSeconds = request.idempotency === null ? 0 : count(quota, request)
        if (waitSeconds > 0 && (await replayOf(quotas, request)) === null)
          throw refused(quota, request, reply, waitSeconds)
        try {
          return await handler.call(this, request, reply)
        } finally {
          if (waitSeconds === 0 && reply.hasHeader('idempotency-replayed')) use(quota, request, -1)
        }
      } as RouteHandlerMethod
    },
  }
}

function lengthOf(value: unknown): number {
  const length = Number(value)
  return Number.isSafeInteger(length) && length > 0 ? length : 0
}
