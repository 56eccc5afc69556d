/** How many requests of each tenant an API process is answering. */
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { QuotaExceeded, QuotaUse } from '../core/quotas.ts'
import type { App } from './request.ts'
import { onceOver } from './request-end.ts'

/**
 * Counts a tenant's requests in progress. A request counts until its response is sent and its handler has finished:
 * after a disconnect the handler still uses resources.
 */
export function createInFlight(
  limitOf: (tenantId: string) => number,
  refuse: (reply: FastifyReply, use: QuotaUse) => QuotaExceeded,
) {
  const inFlight = new Map<string, number>()
  const parts = new WeakMap<FastifyRequest, Set<'answer' | 'handler'>>()

  function end(request: FastifyRequest, part: 'answer' | 'handler'): void {
    const open = parts.get(request)
    if (open === undefined || !open.delete(part) || open.size > 0) return
    parts.delete(request)
    const { tenantId } = request.caller
    const left = (inFlight.get(tenantId) ?? 1) - 1
    if (left === 0) inFlight.delete(tenantId)
    else inFlight.set(tenantId, left)
  }

  return {
    begin(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) {
      const { tenantId } = request.caller
      const limit = limitOf(tenantId)
      const used = inFlight.get(tenantId) ?? 0
      if (limit > 0 && used >= limit) return done(refuse(reply, { quota: 'requests_in_flight', limit, used }))
      if (!parts.has(request)) {
        inFlight.set(tenantId, used + 1)
        parts.set(request, new Set(['answer']))
        // A response that cannot be sent has no onResponse.
        onceOver(reply, () => end(request, 'answer'))
      }
      done()
    },
    during(handler: RouteHandlerMethod): RouteHandlerMethod {
      return async function run(this: App, request, reply) {
        parts.get(request)?.add('handler')
        try {
          return await handler.call(this, request, reply)
        } finally {
          end(request, 'handler')
        }
      } as RouteHandlerMethod
    },
    close(request: FastifyRequest, _reply: FastifyReply, done: () => void) {
      end(request, 'answer')
      done()
    },
  }
}
