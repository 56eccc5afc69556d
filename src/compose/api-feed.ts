/** The event feed: the public events of every capability, read from the log. */
import type { StreamLimits } from '../config/http.ts'
import { allows } from '../core/scopes.ts'
import { readTenantEnd } from '../event-log/read-logged.ts'
import type { Catalogue } from '../feed/catalogue.ts'
import { endIdOf } from '../feed/cursor.ts'
import type { StreamTimes } from '../feed/event-stream.ts'
import { feedRoutes } from '../feed/routes.ts'
import { createStreams } from '../feed/streams.ts'
import { createTail } from '../feed/tail.ts'
import type { AsOfEvent } from '../http/as-of-event.ts'
import type { Authenticator } from '../http/caller.ts'
import type { DocumentedEvent } from '../http/openapi-event-types.ts'
import type { Routes } from '../http/request.ts'
import { composeCatalogue, composeRender } from './catalogue.ts'
import { documentedEvents } from './event-docs.ts'
import type { Kernel } from './kernel.ts'

/** `times` and `ringBytes` differ from those of the service in tests only. */
export type FeedLimits = {
  readonly streams: StreamLimits
  readonly times?: StreamTimes
  readonly ringBytes?: number
}

export type Feed = {
  readonly routes: Routes
  readonly events: readonly DocumentedEvent[]
  readonly asOfEvent: AsOfEvent
  readonly catalogue: Catalogue
  /** That event streams are far behind; `null` if they are not. */
  readonly problem: () => string | null
}

/** As for other readers of the log: see readiness.ts. */
const MAX_LAG_MS = 30_000

export async function composeFeed(
  { pool, wakeUps, clock, logger, metrics }: Pick<Kernel, 'pool' | 'wakeUps' | 'clock' | 'logger' | 'metrics'>,
  authenticator: Authenticator,
  { streams: streamLimits, ...limits }: FeedLimits,
): Promise<Feed> {
  const catalogue = await composeCatalogue()
  const render = composeRender(catalogue, { pool, logger })
  const tail = createTail({ pool, wakeUps, catalogue, render, clock, logger, ...limits })
  const streams = createStreams(streamLimits)
  const gauge = (name: string, help: string, read: () => number) =>
    metrics.addGauge(name, help, [], async () => [{ labels: {}, value: read() }])
  gauge('bursar_feed_streams', 'Open event streams, and requests that wait for events.', streams.count)
  gauge(
    'bursar_feed_lag_seconds',
    'How far event streams are behind the log. 0 without streams.',
    () => tail.lagMs() / 1_000,
  )
  const routes = feedRoutes({
    catalogue,
    tail,
    streams,
    pool,
    render,
    ...limits,
    async callerNow(token, address) {
      const caller = await authenticator.verify(token)
      const mayRead =
        caller !== null && allows(caller.scopes, 'events:read') && caller.allowsAddress?.(address) !== false
      return mayRead ? caller : null
    },
  })
  return {
    routes,
    events: documentedEvents(catalogue),
    catalogue,
    async asOfEvent(owner) {
      const newest = await readTenantEnd(pool, owner)
      return newest === undefined ? null : endIdOf(newest, catalogue.lastIndexOf(newest))
    },
    problem() {
      const lagMs = tail.lagMs()
      if (lagMs <= MAX_LAG_MS) return null
      const failure = tail.failure()
      return `Event streams are ${Math.round(lagMs / 1_000)} s behind the log${failure === null ? '' : `: ${failure}`}.`
    },
  }
}
