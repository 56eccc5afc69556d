/** The event feed over HTTP on a real log, and clients that read its pages and streams. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { LoggedApiKey } from '../../src/access/api-key-rows.ts'
import { createAuthenticator } from '../../src/access/authenticate.ts'
import { createToken } from '../../src/access/token.ts'
import { composeFeed, type FeedLimits } from '../../src/compose/api-feed.ts'
import { Unavailable } from '../../src/core/errors.ts'
import { grantsBefore } from '../../src/core/scopes.ts'
import { CATALOGUE } from '../../src/declarations.ts'
import { createWakeUps } from '../../src/event-log/wake-ups.ts'
import { createMetrics, type Metrics } from '../../src/http/metrics.ts'
import type { Routes } from '../../src/http/request.ts'
import { createLogger } from '../../src/logging.ts'
import { type AuditStage, withAudit } from './audit.ts'
import { type FeedEvent, type FeedStream, readStream } from './event-stream.ts'
import { KEYS, startTestApp, type TestApp, type TestAppOptions } from './http.ts'

export type FeedPage = {
  readonly events: readonly FeedEvent[]
  readonly next_after: string | null
  readonly has_more: boolean
}
export type FeedApi = Pick<TestApp, 'app' | 'send'> & {
  readonly metrics: Metrics
  readonly problem: () => string | null
  readonly page: (query: string, key?: string) => Promise<FeedPage>
  readonly stream: (query?: string, headers?: Readonly<Record<string, string>>) => Promise<FeedStream>
  /** What the database says of the key of every open stream. */
  readonly key: { state: 'valid' | 'revoked' | 'expired' | 'unknown' }
  /** How much later than now it is for the feed. */
  readonly clock: { laterMs: number }
}
export type FeedStage = AuditStage & FeedApi

/** Limits that no test reaches by chance. */
const STREAMS = { ofKey: 20, ofProcess: 1_000 }

export async function withFeed(t: Test, limits: Partial<FeedLimits> = {}): Promise<FeedStage> {
  const stage = await withAudit(t)
  return { ...stage, ...(await serveFeed(t, stage, limits)) }
}

/** On the log of any database. */
export async function serveFeed(
  t: Test,
  { pool, url }: Pick<AuditStage, 'pool' | 'url'>,
  limits: Partial<FeedLimits> = {},
  more: Pick<TestAppOptions, 'quotas'> & { readonly routes?: Routes } = {},
): Promise<FeedApi> {
  const wakeUps = createWakeUps(pool, url)
  t.after(() => wakeUps.close())
  const metrics = createMetrics('test', CATALOGUE.metrics)
  const logger = createLogger({ level: 'error', processName: 'test' })
  const key: FeedApi['key'] = { state: 'valid' }
  const authenticator = createAuthenticator({
    keys: { byDigest: async () => keyIn(key.state) },
    clock: Date.now,
    timer: performance.now.bind(performance),
  })
  const verify = () => authenticator.verify(createToken('mainnet'))
  const clock = { laterMs: 0 }
  const kernel = { pool, wakeUps, clock: () => Date.now() + clock.laterMs, logger, metrics }
  const { routes, problem } = await composeFeed(kernel, { ...authenticator, verify }, { streams: STREAMS, ...limits })
  const { app, send } = await startTestApp({
    metrics,
    ...more,
    routes(app) {
      routes(app)
      more.routes?.(app)
    },
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => app.close())
  const { port } = app.server.address() as AddressInfo
  return {
    app,
    send,
    metrics,
    key,
    clock,
    problem,
    async page(query, key = KEYS.full) {
      const answer = await send({ url: `/v1/events?${query}`, headers: { authorization: `Bearer ${key}` } })
      if (answer.status !== 200) throw new Error(answer.text)
      return answer.body.data as FeedPage
    },
    async stream(query = '', headers = {}) {
      const request = get({
        host: '127.0.0.1',
        port,
        path: `/v1/events?${query}`,
        headers: { accept: 'text/event-stream', authorization: `Bearer ${KEYS.full}`, ...headers },
        agent: false,
      })
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      // A client that leaves ends its own request with an error.
      request.on('error', () => undefined)
      return readStream(response, () => request.destroy())
    },
  }
}

function keyIn(state: FeedApi['key']['state']): LoggedApiKey {
  if (state === 'unknown') throw new Unavailable('database_unavailable', 'The database is not available: try again.')
  const key = {
    keyId: 'key_full',
    tenantId: 'acme',
    environment: 'mainnet' as const,
    label: '',
    scopes: ['*'],
    limits: [],
    issuedBy: null,
  }
  const past = new Date(Date.now() - 1)
  return {
    ...key,
    grants: grantsBefore(key.scopes),
    ipAllowlist: [],
    expiresAt: state === 'expired' ? past : null,
    revokedAt: state === 'revoked' ? past : null,
    createdAt: new Date(0),
  }
}
