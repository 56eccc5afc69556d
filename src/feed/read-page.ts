/** Reads public events from the log, of any age, oldest first and without gaps. */
import type { LoggedEvent, LogOwner } from '../event-log/read-logged.ts'
import type { SubscriptionPosition } from '../event-log/subscription.ts'
import type { Catalogue } from './catalogue.ts'
import { type Cursor, endIdOf, isAfter, readFrom } from './cursor.ts'
import { type FeedEvent, type FeedFilter, matches, toFeedEvent, wantedBy } from './feed-event.ts'
import type { Render } from './render.ts'

export type FeedPage = {
  readonly events: readonly FeedEvent[]
  /** How far the log was read, also where nothing matched. */
  readonly cursor: Cursor
  /** The id that continues there; null if nothing was read. */
  readonly id: string | null
  /** False if the log was read to its end, as of this read. */
  readonly hasMore: boolean
}

export type ReadPage = (owner: LogOwner, filter: FeedFilter, after: Cursor, limit: number) => Promise<FeedPage>

export type PagePorts = {
  readonly catalogue: Catalogue
  readonly render: Render
  readonly readTenantLog: (owner: LogOwner, after: SubscriptionPosition, limit: number) => Promise<LoggedEvent[]>
}

/** Most events of the log for one page: a filter that matches nothing must not read a whole log at once. */
const MOST_SCANNED = 5_000
/** Events of the log that are rendered at once: some megabytes. */
const CHUNK = 250
const SMALLEST_CHUNK = 25

export function createReadPage({ catalogue, render, readTenantLog }: PagePorts): ReadPage {
  return async (owner, filter, after, limit) => {
    const found: FeedEvent[] = []
    let cursor = after
    let id: string | null = null
    const takesAll = filter.types === null && filter.resource === null
    const chunk = takesAll ? Math.max(SMALLEST_CHUNK, Math.min(limit + 1, CHUNK)) : CHUNK
    for (let scanned = 0; scanned < MOST_SCANNED; scanned += chunk) {
      const logged = await readTenantLog(owner, readFrom(cursor), chunk)
      const rendered = await render(logged, wantedBy(filter))
      for (const [n, entry] of logged.entries()) {
        const events = (rendered[n] ?? []).map((event) => toFeedEvent(entry, event))
        for (const event of events.filter((one) => isAfter(one, after) && matches(filter, one))) {
          if (found.length === limit) return { events: found, cursor, id, hasMore: true }
          found.push(event)
          cursor = event
          id = event.event.id
        }
        cursor = { place: entry.place, index: Number.POSITIVE_INFINITY }
        id = endIdOf(entry, catalogue.lastIndexOf(entry))
      }
      if (logged.length < chunk) return { events: found, cursor, id, hasMore: false }
    }
    return { events: found, cursor, id, hasMore: true }
  }
}
