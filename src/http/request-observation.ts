/** Counts and logs every answered request, under the template of its route. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Metrics } from './metrics.ts'
import type { App } from './request.ts'

/** The label of paths without a route: labels must not grow with what callers send. */
const UNMATCHED = 'unmatched'

/** @param logger null when requests are not logged */
export function observeRequests(app: App, { metrics, logger }: { metrics: Metrics; logger: Logger | null }): void {
  function observe(route: string, request: FastifyRequest, reply: FastifyReply): void {
    const { method } = request
    const status = reply.statusCode
    const durationMs = reply.elapsedTime
    metrics.observeRequest({ method, route, status, durationMs })
    if (logger === null) return
    const caller = request.authenticated
    logger.info(
      {
        request_id: request.id,
        method,
        route,
        status,
        duration_ms: Math.round(durationMs * 100) / 100,
        tenant_id: caller?.tenantId,
        key_id: caller?.keyId,
      },
      'request',
    )
  }

  // Each route's own hook knows its template; reading the request's route options would build them each time.
  app.addHook('onRoute', (route) => {
    const hooks = [route.onResponse ?? []].flat()
    route.onResponse = [
      ...hooks,
      (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
        observe(route.url, request, reply)
        done()
      },
    ]
  })
  app.addHook('onResponse', (request, reply, done) => {
    if (request.is404) observe(UNMATCHED, request, reply)
    done()
  })
}
