/** The route of the event feed: pages, long polls and event streams on one path. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createLatch } from '../core/latch.ts'
import { bearerOf } from '../http/auth.ts'
import type { Caller } from '../http/caller.ts'
import { success, successOf } from '../http/envelope.ts'
import { AuthenticationFailed } from '../http/http-errors.ts'
import type { Routes } from '../http/request.ts'
import { onceOver, overOf } from '../http/request-end.ts'
import { UNLIMITED } from '../http/tenant-quotas.ts'
import type { View } from '../http/view.ts'
import { eventStream, type StreamTimes } from './event-stream.ts'
import { type FeedEvent, type FeedFilter, isFilter, shownTo } from './feed-event.ts'
import { readPage } from './read-page.ts'
import { findStart, readFilter, type Start } from './read-request.ts'
import { createReader, type ReaderContext } from './reader.ts'
import { feedPageSchema, feedQuery } from './schemas.ts'
import type { Streams } from './streams.ts'

/** What requests to the feed need; `use` is of each request. */
type RequestContext = Omit<ReaderContext, 'use'> & {
  readonly streams: Streams
  /** The caller as its key is now; `null` if it may not read events from there any more. */
  readonly callerNow: (token: string, address: string) => Promise<Caller | null>
  readonly times?: StreamTimes
}

type Wait = { readonly limit: number; readonly waitSeconds: number; readonly over: AbortSignal }

const list = {
  tags: ['Events'],
  operationId: 'listEvents',
  summary: 'List or stream events',
  description:
    'Lists the events of your tenant in the environment of the API key, in the order of the log, oldest first and without gaps. Events ' +
    'are kept permanently. Pass `next_after` as `after` to continue. With `wait`, the response to a request for new events waits for ' +
    'one. With `Accept: text/event-stream`, the response is a stream of server-sent events that does not end: `Last-Event-ID` ' +
    'continues it, and comes before `after`; `limit` and `wait` do not apply.',
  querystring: feedQuery,
  response: { 200: successOf(feedPageSchema, 'A page of events.') },
}

const config = {
  scope: 'events:read',
  rate: 'skipped_events_per_second',
  measured: true,
  refusals: {
    429:
      'By default, an API key can have 20 event streams and waiting requests at once, and a process 1,000, of which 7 of 8 at most are of one tenant: ' +
      '`too_many_streams`.',
  },
} as const

export function feedRoutes(ctx: RequestContext): Routes {
  return (app) => {
    const draining = new AbortController()
    app.addHook('preClose', (done) => {
      draining.abort()
      done()
    })

    app.get('/v1/events', { schema: list, config }, async (request, reply) => {
      const { caller, query } = request
      const filter = readFilter(query, ctx.catalogue)
      const meter = isFilter(filter) ? request.meter : UNLIMITED
      meter.requireRoom()
      if (wantsStream(request)) {
        const id = lastEventId(request)
        const start = await (id === undefined
          ? findStart(ctx, caller, query.after)
          : findStart(ctx, caller, id, 'Last-Event-ID'))
        return stream({ ...ctx, use: meter.use }, { request, reply, filter, start, draining: draining.signal }) as never
      }
      const start = await findStart(ctx, caller, query.after)
      const first = await readPage(ctx, caller, filter, start.cursor, query.limit)
      const owedMs = meter.use(first.unmatched)
      const { limit, wait: waitSeconds } = query
      if (first.events.length > 0 || waitSeconds === 0 || (first.hasMore && owedMs > 0)) {
        const { events, hasMore, id } = first
        return success(pageOf(caller, { events, hasMore, id: id ?? start.id }))
      }
      const continued = { cursor: first.cursor, id: first.id ?? start.id }
      const over = AbortSignal.any([draining.signal, overOf(reply)])
      const awaited = await poll({ ...ctx, use: meter.use }, caller, {
        filter,
        start: continued,
        limit,
        waitSeconds,
        over,
      })
      // The key may have been revoked meanwhile: it gets nothing that was recorded after that.
      const callerNow = awaited.events.length === 0 ? caller : await ctx.callerNow(bearerOf(request) ?? '', request.ip)
      if (callerNow === null) throw new AuthenticationFailed('api_key_invalid')
      return success(pageOf(callerNow, awaited))
    })
  }
}

/** Waits for the first events. */
async function poll(
  ctx: RequestContext & ReaderContext,
  caller: Caller,
  { filter, start, limit, waitSeconds, over }: Wait & { readonly filter: FeedFilter; readonly start: Start },
) {
  const close = ctx.streams.open(caller)
  const news = createLatch()
  const reader = createReader(ctx, caller, filter, start, news.set)
  const until = performance.now() + waitSeconds * 1_000
  const stop = AbortSignal.any([over, reader.moved])
  try {
    for (;;) {
      const events = await reader.next(limit)
      const leftMs = until - performance.now()
      const isOver = leftMs <= 0 || stop.aborted || (!reader.isAtEnd() && reader.owedMs() > 0)
      if (events.length > 0 || isOver) return { events, hasMore: !reader.isAtEnd(), id: reader.position() }
      if (reader.isAtEnd()) await news.wait(leftMs, stop)
    }
  } finally {
    reader.close()
    close()
  }
}

function stream(
  ctx: RequestContext & ReaderContext,
  of: {
    readonly request: FastifyRequest
    readonly reply: FastifyReply
    readonly filter: FeedFilter
    readonly start: Start
    readonly draining: AbortSignal
  },
): FastifyReply {
  const { request, reply, filter, start, draining } = of
  const { caller } = request
  const close = ctx.streams.open(caller)
  const token = bearerOf(request)
  const blocks = eventStream({
    openReader: (onNews) => createReader(ctx, caller, filter, start, onNews),
    scopes: caller.scopes,
    // Its scopes can only have become fewer.
    isKeyValid: async () => (await ctx.callerNow(token ?? '', request.ip))?.scopes.size === caller.scopes.size,
    draining,
    onError: (error) => request.log.warn({ err: error }, 'an event stream cannot read the log'),
    onStall: () => request.raw.destroy(),
    ...(ctx.times ? { times: ctx.times } : {}),
  })
  onceOver(reply, () => {
    close()
    blocks.destroy()
  })
  return reply.headers({ 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' }).send(blocks)
}

function pageOf(
  { scopes }: Caller,
  page: { readonly events: readonly FeedEvent[]; readonly hasMore: boolean; readonly id: string | null },
): View<typeof feedPageSchema> {
  const { events, hasMore: has_more, id: next_after } = page
  return { events: events.map((event) => shownTo(scopes, event)), next_after, has_more }
}

function wantsStream({ headers }: FastifyRequest): boolean {
  return headers.accept?.toLowerCase().includes('text/event-stream') ?? false
}

function lastEventId({ headers }: FastifyRequest): string | undefined {
  const id = headers['last-event-id']
  return typeof id === 'string' && id !== '' ? id : undefined
}
