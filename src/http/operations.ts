/** The routes for operators: `/healthz`, `/readyz`, `/metrics`. They are public: see the deployment guide. */
import { Type } from '@sinclair/typebox'
import type { Clock } from '../core/ids.ts'
import { createDocument, sendDocument } from './document.ts'
import { success, successOf } from './envelope.ts'
import { failuresOf, type Readiness, readyBody } from './health.ts'
import { NotReady } from './http-errors.ts'
import type { Metrics } from './metrics.ts'
import type { App } from './request.ts'

/** How long rendered metrics are cached. */
const FRESH_MS = 1_000

const tags = ['Operations']
const config = { scope: 'public' } as const

const alive = {
  tags,
  operationId: 'getHealth',
  summary: 'Get liveness',
  description: 'Returns 200 while the process can answer requests. Checks nothing else.',
  response: {
    200: successOf(
      Type.Object({ alive: Type.Literal(true, { description: 'Always true.' }) }),
      'The process is alive.',
    ),
  },
}

const ready = {
  tags,
  operationId: 'getReadiness',
  summary: 'Get readiness',
  description:
    'Checks each dependency of the process, each within two seconds. A 503 lists the checks that failed and why. A `warning` needs ' +
    'the attention of an operator, but requests are still answered, so the response is 200 with `degraded: true`. The check ' +
    '`log_readers` has a warning while a database transaction, in any database of the server, has been open for more than 30 s: ' +
    'requests that were accepted since then are processed late, and event streams deliver no newer events. While a network cannot be ' +
    'used and another one can, the response is 200 with `degraded: true`, and its check has `ok: false` and the reason in `why`: ' +
    'requests that need this network get a 503, all others are served.',
  response: {
    200: successOf(
      Type.Object({
        ready: Type.Literal(true, { description: 'Always true: a failed check is answered with 503.' }),
        degraded: Type.Boolean({ description: 'Whether a check has a warning, or a network cannot be used.' }),
        checks: Type.Array(
          Type.Object({
            name: Type.String({ description: 'The dependency.', examples: ['database'] }),
            ok: Type.Boolean({
              description: 'Whether the check passed. False only for networks: others work without it.',
            }),
            why: Type.Optional(
              Type.String({
                description: 'Why a network cannot be used. Present only if `ok` is false.',
                examples: [
                  'the follower has not moved for 95 s: the node has no block 7100, although its newest one is 9000',
                ],
              }),
            ),
            state: Type.Optional(
              Type.String({
                description:
                  'What the dependency is like: for `fork:ethereum`, the fork whose gas rules the chain runs.',
                examples: ['osaka'],
              }),
            ),
            warning: Type.Optional(
              Type.String({
                description: 'What an operator should look at. Present only if there is something.',
                examples: [
                  'pid 4711 has had a transaction open for 95 s (user reporting, database warehouse, application psql, idle in transaction: UPDATE facts SET …)',
                ],
              }),
            ),
          }),
          { description: 'The checks that were made.' },
        ),
      }),
      'The process can serve requests.',
    ),
  },
}

const metricsText = {
  tags,
  operationId: 'getMetrics',
  summary: 'Get metrics',
  description: 'The metrics of the process in the Prometheus text format.',
  produces: ['text/plain'],
  response: { 200: Type.String({ description: 'Prometheus text format 0.0.4.' }) },
}

export function addOperations(
  app: App,
  {
    readiness,
    metrics,
    clock,
  }: {
    readonly readiness: Readiness
    /** Null when metrics have their own port. */
    readonly metrics: Metrics | null
    readonly clock: Clock
  },
): void {
  app.get('/healthz', { schema: alive, config }, async () => success({ alive: true as const }))

  app.get('/readyz', { schema: ready, config }, async () => {
    const results = await readiness()
    const failures = failuresOf(results)
    if (failures.length > 0) throw new NotReady(failures)
    return success(readyBody(results))
  })

  if (metrics === null) return
  const { registry } = metrics
  const rendered = onceASecond(async () => createDocument(await registry.metrics()), clock)
  app.get('/metrics', { schema: metricsText, config: { ...config, limited: true } }, async (request, reply) =>
    sendDocument(request, reply, await rendered(), { 'content-type': registry.contentType }),
  )
}

/** The result is cached for a second: it reads the database, and the route is public. */
function onceASecond<Value>(make: () => Promise<Value>, clock: Clock): () => Promise<Value> {
  let latest: Promise<Value> | undefined
  let madeAt = 0
  return () => {
    const now = clock()
    if (latest === undefined || Math.abs(now - madeAt) >= FRESH_MS) {
      latest = make()
      madeAt = now
    }
    return latest
  }
}
