/** `/metrics`, `/healthz` and `/readyz` for a process without an API. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { errorBody, success } from './envelope.ts'
import { failuresOf, type Readiness, readyBody } from './health.ts'
import { NotReady } from './http-errors.ts'
import type { Metrics } from './metrics.ts'

type Answer = { readonly status: number; readonly contentType: string; readonly body: string }

export type MetricsServer = { readonly port: number; readonly close: () => Promise<void> }

/** Only monitors connect, which are few and quick. */
const LIMITS = { requestTimeout: 10_000, headersTimeout: 10_000, connectionsCheckingInterval: 1_000 }
const MAX_CONNECTIONS = 100

/** @param port 0 selects a free one */
export async function startMetricsServer(
  { host, port }: { readonly host: string; readonly port: number },
  sources: { readonly metrics: Metrics; readonly readiness: Readiness },
): Promise<MetricsServer> {
  const server = createServer(LIMITS, (request, response) => {
    const reading = request.method === 'GET' || request.method === 'HEAD'
    const answer = reading
      ? answerTo(request.url ?? '', sources)
      : Promise.resolve(json(405, 'Only GET and HEAD are allowed.'))
    answer
      .catch((error: unknown) => json(500, error instanceof Error ? error.message : 'failed'))
      .then(({ status, contentType, body }) => response.writeHead(status, { 'content-type': contentType }).end(body))
      .catch((error: Error) => response.destroy(error))
  })
  server.maxConnections = MAX_CONNECTIONS
  server.listen(port, host)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

async function answerTo(
  url: string,
  { metrics, readiness }: { metrics: Metrics; readiness: Readiness },
): Promise<Answer> {
  switch (url.split('?')[0]) {
    case '/metrics':
      return { status: 200, contentType: metrics.registry.contentType, body: await metrics.registry.metrics() }
    case '/healthz':
      return json(200, success({ alive: true }))
    case '/readyz': {
      const checks = await readiness()
      const failures = failuresOf(checks)
      if (failures.length === 0) return json(200, success(readyBody(checks)))
      const notReady = new NotReady(failures)
      return json(503, errorBody(notReady.items, 'readyz', notReady.message))
    }
    default:
      return json(404, 'This server only has /metrics, /healthz and /readyz.')
  }
}

function json(status: number, content: object | string): Answer {
  const body = typeof content === 'string' ? { status: 'error', message: content } : content
  return { status, contentType: 'application/json; charset=utf-8', body: JSON.stringify(body) }
}
