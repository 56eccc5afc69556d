/** The event feed over HTTP on a real log, and clients that read its pages and streams. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { composeFeed, type FeedLimits } from '../../src/compose/api-feed.ts'
import { createWakeUps } from '../../src/event-log/wake-ups.ts'
import { createMetrics, type Metrics } from '../../src/http/metrics.ts'
import { createLogger } from '../../src/logging.ts'
import { type AuditStage, withAudit } from './audit.ts'
import { KEYS, startTestApp, type TestApp } from './http.ts'

export type FeedPage = {
  readonly events: readonly FeedEvent[]
  readonly next_after: string | null
  readonly has_more: boolean
}
export type FeedEvent = {
  readonly id: string
  readonly type: string
  readonly environment: string
  readonly resource: { readonly type: string; readonly id: string; readonly version: number }
  readonly data: Readonly<Record<string, unknown>> | null
}

/** One block of an event stream. */
export type Block = {
  readonly id?: string
  readonly event?: string
  readonly data?: FeedEvent
  readonly retry?: string
}

export type FeedStream = {
  readonly response: IncomingMessage
  /** The next block with something in it; null at the end of the stream. */
  readonly next: () => Promise<Block | null>
  /** Blocks until so many events came; heartbeats are passed over. */
  readonly events: (count: number) => Promise<FeedEvent[]>
  readonly close: () => void
}

export type FeedStage = AuditStage &
  Pick<TestApp, 'app' | 'send'> & {
    readonly metrics: Metrics
    readonly page: (query: string, key?: string) => Promise<FeedPage>
    readonly stream: (query?: string, headers?: Readonly<Record<string, string>>) => Promise<FeedStream>
    /** From now on no key is valid; those of open streams were. */
    readonly revoke: () => void
  }

export async function withFeed(t: Test, limits: FeedLimits = {}): Promise<FeedStage> {
  const stage = await withAudit(t)
  const { pool, url } = stage
  const wakeUps = createWakeUps(pool, url)
  t.after(() => wakeUps.close())
  const metrics = createMetrics('test')
  const logger = createLogger({ level: 'error', processName: 'test' })
  let isRevoked = false
  const caller = { tenantId: 'acme', keyId: 'key_full', environment: 'mainnet' as const, scopes: new Set(['*']) }
  const authenticator = { recall: () => undefined, verify: async () => (isRevoked ? null : caller) }
  const kernel = { pool, wakeUps, clock: Date.now, logger, metrics }
  const { routes } = await composeFeed(kernel, authenticator, limits)
  const { app, send } = await startTestApp({ routes, metrics })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => app.close())
  const { port } = app.server.address() as AddressInfo
  return {
    ...stage,
    app,
    send,
    metrics,
    revoke() {
      isRevoked = true
    },
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

function readStream(response: IncomingMessage, close: () => void): FeedStream {
  const blocks = parse(response)
  const next = async () => (await blocks.next()).value ?? null
  return {
    response,
    next,
    close,
    async events(count) {
      const found: FeedEvent[] = []
      while (found.length < count) {
        const block = await next()
        if (block === null) throw new Error(`the stream ended after ${found.length} events`)
        if (block.data !== undefined) found.push(block.data)
      }
      return found
    },
  }
}

async function* parse(response: IncomingMessage): AsyncGenerator<Block, null> {
  let text = ''
  try {
    for await (const chunk of response.setEncoding('utf8')) {
      text += chunk
      for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
        const fields = Object.fromEntries(text.slice(0, end).split('\n').map(fieldOf))
        text = text.slice(end + 2)
        if ('' in fields) continue
        yield {
          ...fields,
          ...(fields.data === undefined ? {} : { data: JSON.parse(fields.data) as FeedEvent }),
        } as Block
      }
    }
  } catch {
    return null
  }
  return null
}

/** A comment has an empty name. */
function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon), line.slice(colon + 2)]
}
