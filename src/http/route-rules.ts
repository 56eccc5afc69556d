/**
 * Checks what every route must declare when it is added: its operation id and texts, who may call it, and closed request objects.
 * A route without one of them fails the start of the process.
 */
import type { onRequestHookHandler, preValidationHookHandler, RouteOptions } from 'fastify'
import { ValidationFailed } from '../core/errors.ts'
import { fieldPath } from '../core/field-path.ts'
import { type Access, type Gate, limitByAddress, requireScope, requireStill } from './auth.ts'
import { type BodyLimits, DEFAULT_BODY } from './body-limits.ts'
import { readIdempotencyKey } from './idempotency.ts'

const MAX_FIELDS_TOLD = 100

/** Part of the `config` of every route. */
export type RouteAccess = {
  /** The scope that an API key must have; `any` where every key will do; `public` for a route that needs no key. */
  scope?: Access | 'public'
  /** Rate-limits the requests of each client address: for public routes that read the database. */
  limited?: boolean
  /** The limits of the body, for routes that need more than the default. */
  body?: BodyLimits
  /** Whether a request counts towards the requests of a day of its key; omitted for yes. */
  counts?: boolean
  /** Accepts an `Idempotency-Key`: every POST that creates, changes or spends. */
  idempotent?: boolean
  /** What the response waits for, as the rest of a sentence that begins with `Waits`: `up to 2 seconds for the hash`. The route follows `Prefer`. */
  waits?: string
  /** Error responses beyond those of every route, for the reference: `{ 409: 'The wallet has pending transactions.' }`. */
  refusals?: Readonly<Record<number, string>>
}

/**
 * An `onRoute` hook: adds the hooks and limits for a route's settings. @throws Error when a setting is missing
 *
 * @param bodyLimitBytes maximum body size of any route
 */
export function enforceRouteRules(gate: Gate, bodyLimitBytes: number): (route: RouteOptions) => void {
  return (route) => {
    const name = `${String(route.method)} ${route.url}`
    const { scope, limited, counts = true, idempotent, body = DEFAULT_BODY } = route.config ?? {}
    if (scope === undefined) throw new Error(`${name} must state config.scope: a scope, 'any' or 'public'`)
    for (const part of ['operationId', 'summary', 'description', 'tags'] as const) {
      if (!route.schema?.[part]?.length)
        throw new Error(`${name} must state schema.${part}: the API reference shows it`)
    }
    requireClosed(route.schema?.body, `${name}: body`)
    requireClosed(route.schema?.querystring, `${name}: querystring`)
    if (scope !== 'public') route.onRequest = before(requireScope(scope, gate, counts), route.onRequest)
    else if (limited) route.onRequest = before(limitByAddress(gate), route.onRequest)
    route.bodyLimit = Math.min(body.bytes, bodyLimitBytes)
    const reads = ['GET', 'HEAD'].includes(String(route.method))
    if (!reads && route.schema?.body === undefined) route.preValidation = before(refuseFields, route.preValidation)
    if (!reads && scope !== 'public') route.preValidation = before(requireStill(scope, gate), route.preValidation)
    if (idempotent) route.preValidation = before(readIdempotencyKey(name), route.preValidation)
  }
}

/** A route without a body schema accepts no body or an empty one. A field in it is refused like any unknown field. */
const refuseFields: preValidationHookHandler = (request, _reply, done) => {
  const names = typeof request.body === 'object' && request.body !== null ? Object.keys(request.body) : []
  if (names.length === 0) done()
  else done(new ValidationFailed(names.slice(0, MAX_FIELDS_TOLD).map(notAField)))
}

function notAField(name: string) {
  const field = fieldPath([name])
  return { field, code: 'unknown_field', message: `${field} is not a field of this request: it has no body fields.` }
}

function before<Hook extends onRequestHookHandler | preValidationHookHandler>(hook: Hook, hooks: unknown): Hook[] {
  return [hook, ...[(hooks as Hook | Hook[] | undefined) ?? []].flat()] as Hook[]
}

/** An object schema that does not mention unknown fields would accept them silently. */
function requireClosed(schema: unknown, place: string): void {
  if (typeof schema !== 'object' || schema === null) return
  const { type, properties, additionalProperties, patternProperties } = schema as Record<string, unknown>
  if (type === 'object' && additionalProperties === undefined && patternProperties === undefined) {
    throw new Error(`${place} must state additionalProperties: use closedObject`)
  }
  for (const [name, member] of Object.entries(properties ?? {})) requireClosed(member, `${place}.${name}`)
  for (const keyword of ['items', 'additionalProperties', 'anyOf', 'oneOf', 'allOf'] as const) {
    for (const part of [(schema as Record<string, unknown>)[keyword]].flat()) requireClosed(part, `${place}.${keyword}`)
  }
}
