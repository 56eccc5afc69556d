/** The routes for those who run the service: `/healthz`, `/readyz`, `/metrics`. They are public: see the deployment guide. */
import { Type } from '@sinclair/typebox'
import type { Clock } from '../core/ids.ts'
import { createDocument, sendDocument } from './document.ts'
import { success, successOf } from './envelope.ts'
import { type Readiness, readyBody } from './health.ts'
import { NotReady } from './http-errors.ts'
import type { Metrics } from './metrics.ts'
import type { App } from './request.ts'

/** How long one rendering of the metrics is handed out. */
const FRESH_MS = 1_000

const tags = ['Operations']
const config = { scope: 'public' } as const

const alive = {
  tags,
  summary: 'Is the process alive?',
  description: 'Answers as long as the process can answer anything; looks at nothing else.',
  response: { 200: successOf(Type.Object({ alive: Type.Literal(true) }), 'The process lives.') },
}

const ready = {
  tags,
  summary: 'Can the process do its work?',
  description:
    'Checks what the process needs, each within two seconds. 503 lists what does not work and why. A `warning` needs an operator and not ' +
    'another process: requests are still answered, so it comes with 200 and `degraded`. `log_readers` has one while a database ' +
    'transaction, in any database of the server, has been open for more than 30 s: what was accepted since is taken up late.',
  response: {
    200: successOf(
      Type.Object({
        ready: Type.Literal(true),
        degraded: Type.Boolean({ description: 'Whether any check has a warning.' }),
        checks: Type.Array(
          Type.Object({
            name: Type.String({ examples: ['database'] }),
            ok: Type.Literal(true),
            warning: Type.Optional(
              Type.String({
                examples: [
                  'pid 4711 has had a transaction open for 95 s (user reporting, database warehouse, application psql, idle in transaction: UPDATE facts SET …)',
                ],
              }),
            ),
          }),
        ),
      }),
      'Everything that the process needs works.',
    ),
  },
}

const metricsText = {
  tags,
  summary: 'Metrics',
  description: 'What the process counts, as Prometheus reads it.',
  produces: ['text/plain'],
  response: { 200: Type.String({ description: 'The text format 0.0.4.' }) },
}

export type OperationsParts = {
  readonly readiness: Readiness
  /** Null where they have a port of their own. */
  readonly metrics: Metrics | null
  readonly clock: Clock
}

export function addOperations(app: App, { readiness, metrics, clock }: OperationsParts): void {
  app.get('/healthz', { schema: alive, config }, async () => success({ alive: true as const }))

  app.get('/readyz', { schema: ready, config }, async () => {
    const results = await readiness()
    const failures = results.filter(({ ok }) => !ok)
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

/** What was made is shared by all who ask within a second: it reads the database, and anybody may ask. */
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
