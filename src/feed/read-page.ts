/** Reads public events from the log, of any age, oldest first and without gaps. */
import type { LoggedEvent, LogOwner } from '../event-log/read-logged.ts'
import { comparePlaces, type SubscriptionPosition } from '../event-log/subscription.ts'
import type { Catalogue } from './catalogue.ts'
import { type Cursor, endIdOf, isAfter, readFrom } from './cursor.ts'
import { type FeedEvent, type FeedFilter, matches, toFeedEvent, wantedBy } from './feed-event.ts'
import type { FindEvents } from './find-events.ts'
import type { Render } from './render.ts'

export type FeedPage = {
  readonly events: readonly FeedEvent[]
  /** How far the log was read, also where nothing matched. */
  readonly cursor: Cursor
  /** The id that continues there; null if nothing was read. */
  readonly id: string | null
  /** False if the log was read to its end, as of this read. */
  readonly hasMore: boolean
  /** Events of the log that were read for nothing. */
  readonly unmatched: number
}

export type ReadPage = (owner: LogOwner, filter: FeedFilter, after: Cursor, limit: number) => Promise<FeedPage>

export type PagePorts = {
  readonly catalogue: Catalogue
  readonly render: Render
  readonly readTenantLog: (owner: LogOwner, after: SubscriptionPosition, limit: number) => Promise<LoggedEvent[]>
  readonly readTenantEnd: (owner: LogOwner) => Promise<LoggedEvent | undefined>
  readonly findEvents: FindEvents
}

/** Most events of the log that are read for a page and are not on it. */
const MOST_UNMATCHED = 200
/** Events of the log that are rendered at once: other requests have their turn between. */
const CHUNK = 100
const SMALLEST_CHUNK = 25

export function createReadPage(ports: PagePorts): ReadPage {
  const { catalogue, render, readTenantLog, readTenantEnd, findEvents } = ports
  return async (owner, filter, after, limit) => {
    const takesAll = filter.types === null && filter.resource === null
    const end = takesAll ? null : await readTenantEnd(owner)
    const page = { events: [] as FeedEvent[], cursor: after, id: null as string | null, unmatched: 0 }
    if (end === undefined || (end !== null && comparePlaces(end.place, after.place) < 0)) return { ...page, hasMore: false }
    const chunk = Math.max(SMALLEST_CHUNK, Math.min(limit + 1, CHUNK))
    const passed = (entry: LoggedEvent) => {
      page.cursor = { place: entry.place, index: Number.POSITIVE_INFINITY }
      page.id = endIdOf(entry, catalogue.lastIndexOf(entry))
    }
    while (page.unmatched < MOST_UNMATCHED) {
      const from = readFrom(page.cursor)
      const logged = await (end === null
        ? readTenantLog(owner, from, chunk)
        : findEvents(owner, filter, { after: from, until: end.place }, chunk))
      const rendered = await render(logged, wantedBy(filter))
      for (const [n, entry] of logged.entries()) {
        const events = (rendered[n] ?? []).map((event) => toFeedEvent(entry, event))
        const wanted = events.filter((one) => isAfter(one, after) && matches(filter, one))
        for (const event of wanted) {
          if (page.events.length === limit) return { ...page, hasMore: true }
          page.events.push(event)
          page.cursor = event
          page.id = event.event.id
        }
        if (wanted.length === 0) page.unmatched += 1
        passed(entry)
      }
      if (logged.length < chunk) {
        if (end !== null) passed(end)
        return { ...page, hasMore: false }
      }
    }
    return { ...page, hasMore: true }
  }
}
