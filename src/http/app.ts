/**
 * Builds the HTTP application from its parts. Invariant: unknown fields are never dropped and types never coerced,
 * every response is an envelope with a request id, and every route is authenticated unless it is declared public.
 */
import type { IncomingMessage } from 'node:http'
import Fastify, { type FastifyHttpOptions, LogController, type RawServerDefault } from 'fastify'
import type { Logger } from 'pino'
import type { Clock } from '../core/ids.ts'
import type { Catalogue, NewId } from '../core/registry.ts'
import { type AsOfEvent, addAsOfEvent } from './as-of-event.ts'
import type { Gate, KeyRefusal } from './auth.ts'
import { DEFAULT_BODY } from './body-limits.ts'
import type { Authenticator, Caller } from './caller.ts'
import { clientErrorHandler } from './client-error.ts'
import { type ConnectionLimits, connectionOptions, limitConnections, limitRequests } from './connections.ts'
import { addDocsPage } from './docs-page.ts'
import { drainConnections } from './draining.ts'
import { replyWithError } from './error-reply.ts'
import type { Readiness } from './health.ts'
import { RequestRefused } from './http-errors.ts'
import { readJsonBody } from './json-body.ts'
import type { Metrics } from './metrics.ts'
import { addOpenApi } from './openapi.ts'
import type { DocumentedEvent } from './openapi-event-types.ts'
import { addOperations } from './operations.ts'
import { MAX_PARAM_LENGTH } from './path-limits.ts'
import { createRateLimit } from './rate-limit.ts'
import { refuseRepeatedHeaders } from './repeated-headers.ts'
import type { App, Routes } from './request.ts'
import { closePipelined } from './request-end.ts'
import { observeRequests } from './request-observation.ts'
import { enforceRouteRules } from './route-rules.ts'
import { refuseUnstorableUrl } from './storable-url.ts'
import { enforceTenantQuotas, type TenantQuotas } from './tenant-quotas.ts'
import { createPathBook } from './unmatched.ts'
import { createValidatorCompiler } from './validation.ts'

export type HttpSettings = {
  /** Maximum body size of any route. */
  readonly bodyLimitBytes: number
  /** Requests per key and second; 0 for no limit. */
  readonly rateLimitPerSecond: number
  /** Log one line for each request at level info. */
  readonly logRequests: boolean
  /** Responses have `X-Sandbox: true`. */
  readonly sandbox: boolean
  /** Addresses and CIDR ranges of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[]
  /** False when `/metrics` has its own port. */
  readonly serveMetrics: boolean
  readonly connections: ConnectionLimits
}

/**
 * The application, ready for `listen` or `inject`.
 *
 * @throws Error when a route breaks a rule of route-rules.ts
 */
export async function buildApp(parts: {
  readonly settings: HttpSettings
  readonly version: string
  readonly logger: Logger
  readonly authenticator: Authenticator
  readonly readiness: Readiness
  readonly metrics: Metrics
  readonly countRequest: Gate['countRequest']
  readonly quotas: TenantQuotas
  readonly routes: readonly Routes[]
  /** What capabilities declare about the API document. */
  readonly catalogue: Pick<Catalogue, 'errors' | 'quotas' | 'tags'>
  /** The public events that the API document describes. */
  readonly events: readonly DocumentedEvent[]
  readonly asOfEvent: AsOfEvent
  readonly clock: Clock
  /** As `performance.now()`. */
  readonly timer: Clock
  readonly newId: NewId
}): Promise<App> {
  const { settings, metrics, readiness } = parts
  const app: App = Fastify(serverOptions(parts))
  const pathBook = createPathBook()
  const gate = {
    authenticator: parts.authenticator,
    rateLimit: createRateLimit(settings.rateLimitPerSecond, parts.clock),
    timer: parts.timer,
    countRefusal: (reason: KeyRefusal) => metrics.count('bursar_api_key_refusals_total', { reason }),
    countRequest: parts.countRequest,
  }

  app.setValidatorCompiler(createValidatorCompiler())
  app.setErrorHandler(replyWithError)
  app.setNotFoundHandler(pathBook.reply)
  acceptJsonOnly(app)
  decorateRequests(app)
  closePipelined(app)
  addCommonHeaders(app, settings.sandbox)
  app.addHook('onRequest', refuseRepeatedHeaders)
  app.addHook('onRequest', pathBook.refuseUndeclared)
  app.addHook('preValidation', refuseUnstorableUrl)
  limitConnections(app, settings.connections, { trustedProxies: settings.trustedProxies, metrics })
  limitRequests(app, settings.connections)
  drainConnections(app)
  app.addHook('onRoute', pathBook.note)
  observeRequests(app, { metrics, logger: settings.logRequests ? parts.logger : null })

  await addOpenApi(app, { version: parts.version, gate, events: parts.events, catalogue: parts.catalogue })
  addDocsPage(app, gate)
  app.addHook('onRoute', addAsOfEvent(parts.asOfEvent))
  app.addHook('onRoute', enforceTenantQuotas(parts.quotas))
  // From here on every route must declare who may call it.
  app.addHook('onRoute', enforceRouteRules(gate, settings.bodyLimitBytes))
  for (const addRoutes of parts.routes) addRoutes(app)
  addOperations(app, { readiness, metrics: settings.serveMetrics ? metrics : null, clock: parts.clock })
  await app.ready()
  return app
}

function serverOptions({
  settings,
  logger,
  newId,
}: Pick<Parameters<typeof buildApp>[0], 'settings' | 'logger' | 'newId'>): FastifyHttpOptions<RawServerDefault> {
  return {
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    genReqId: requestIdMaker(newId),
    requestIdHeader: false,
    bodyLimit: Math.min(settings.bodyLimitBytes, DEFAULT_BODY.bytes),
    trustProxy: settings.trustedProxies.length === 0 ? false : [...settings.trustedProxies],
    ...connectionOptions(settings.connections),
    // During shutdown, requests on open connections are still answered; the connections close afterwards.
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    frameworkErrors: (error, request, reply) => replyWithError(error, request, reply),
    clientErrorHandler: clientErrorHandler(newId),
  }
}

function acceptJsonOnly(app: App): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    requireIdentity(request.headers['content-encoding'])
    request.bodyLength = body.length
    done(
      null,
      readJsonBody(body, () => request.routeOptions.config.body?.values ?? DEFAULT_BODY.values),
    )
  })
}

/** Compressed bodies are not supported: without this check they would be reported as malformed. */
function requireIdentity(encoding: string | undefined): void {
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return
  const rule = 'The body must not be compressed: send it without Content-Encoding.'
  throw new RequestRefused('unsupported_content_encoding', rule)
}

function decorateRequests(app: App): void {
  app.decorateRequest('authenticated', null)
  app.decorateRequest('idempotency', null)
  app.decorateRequest('bodyLength', 0)
  app.decorateRequest('meter')
  app.decorateRequest('caller', {
    getter(): Caller {
      if (this.authenticated === null) throw new Error('this route is public and has no caller')
      return this.authenticated
    },
  })
}

function addCommonHeaders(app: App, sandbox: boolean): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    reply.header('cache-control', 'no-store')
    if (sandbox) reply.header('x-sandbox', 'true')
    done()
  })
}

/** At most 128 visible ASCII characters: nothing that could break a header or a log line. */
const FIT_TO_ECHO = /^[!-~]{1,128}$/

/** The id of each request: the caller's `X-Request-Id` if it is safe to echo and log, otherwise a generated one. */
function requestIdMaker(newId: NewId): (message: IncomingMessage) => string {
  return (message) => {
    const sent = message.headers['x-request-id']
    return typeof sent === 'string' && FIT_TO_ECHO.test(sent) ? sent : newId('request')
  }
}
