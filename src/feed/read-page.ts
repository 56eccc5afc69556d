/** Reads public events from the log, of any age, oldest first and without gaps. */
import type { Pool } from 'pg'
import { type LoggedEvent, type LogOwner, readTenantEnd, readTenantLog } from '../event-log/read-logged.ts'
import { comparePlaces, type SubscriptionPosition } from '../event-log/subscription.ts'
import { findEvents } from './candidates.ts'
import { type Cursor, endIdOf, isAfter, readFrom } from './cursor.ts'
import { type FeedEvent, type FeedFilter, isFilter, matches, toFeedEvent, wantedBy } from './feed-event.ts'
import type { FeedContext } from './render.ts'

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

/** Events of the log that are rendered at once: other requests have their turn between. */
const CHUNK = 90
/** A page ends when so many were read that are not on it: with those that rendering reads, 200 rows if nothing matches. */
const MOST_UNMATCHED = CHUNK
const SMALLEST_CHUNK = 25

/** The events after a place of the log, at most `limit`. */
export async function readPage(
  ctx: FeedContext,
  owner: LogOwner,
  filter: FeedFilter,
  after: Cursor,
  limit: number,
): Promise<FeedPage> {
  const { pool, catalogue, render } = ctx
  const end = isFilter(filter) ? await readTenantEnd(pool, owner) : null
  const page = { events: [] as FeedEvent[], cursor: after, id: null as string | null, unmatched: 0 }
  if (end === undefined || (end !== null && comparePlaces(end.place, after.place) < 0))
    return { ...page, hasMore: false }
  const chunk = Math.max(SMALLEST_CHUNK, Math.min(limit + 1, CHUNK))
  const passed = (entry: LoggedEvent) => {
    page.cursor = { place: entry.place, index: Number.POSITIVE_INFINITY }
    page.id = endIdOf(entry, catalogue.lastIndexOf(entry))
  }
  while (page.unmatched < MOST_UNMATCHED) {
    const from = readFrom(page.cursor)
    const { events: read, areLast } =
      end === null
        ? await readNext(pool, owner, from, chunk)
        : await findEvents(ctx, owner, filter, { after: from, until: end.place }, chunk)
    const rendered = await render(read, wantedBy(filter))
    for (const [n, entry] of read.entries()) {
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
    if (areLast) {
      if (end !== null) passed(end)
      return { ...page, hasMore: false }
    }
  }
  return { ...page, hasMore: true }
}

async function readNext(pool: Pool, owner: LogOwner, from: SubscriptionPosition, limit: number) {
  const events = await readTenantLog(pool, owner, from, limit)
  return { events, areLast: events.length < limit }
}
