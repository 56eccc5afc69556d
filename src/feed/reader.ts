/**
 * One reader of the feed. It takes events from the ring of the tail where its cursor is inside, and otherwise from
 * pages of the log. Invariant: both use the same places, so that no event is missing or repeated where they meet.
 */
import type { LogOwner } from '../event-log/read-logged.ts'
import { comparePlaces } from '../event-log/subscription.ts'
import type { Cursor } from './cursor.ts'
import { type FeedEvent, type FeedFilter, matches } from './feed-event.ts'
import { readPage } from './read-page.ts'
import type { FeedContext } from './render.ts'
import { takeAfter } from './ring.ts'
import type { Tail } from './tail.ts'

export type Reader = {
  /** The next events that are in memory, perhaps none; null if the log must be read for them. */
  readonly take: (limit: number) => readonly FeedEvent[] | null
  /** The next events, perhaps none; never waits for new ones. @throws database errors */
  readonly next: (limit: number) => Promise<readonly FeedEvent[]>
  /** The id that continues after everything that was read; null if nothing was ever read. */
  readonly position: () => string | null
  /** Whether the last ones were all that there were. */
  readonly isAtEnd: () => boolean
  /** Milliseconds until the log should be read again: the tenant has had too much read that did not match. */
  readonly owedMs: () => number
  /** Aborts when the reader cannot continue, because the database was restored to an earlier state. */
  readonly moved: AbortSignal
  readonly close: () => void
}

/** What one reader needs. */
export type ReaderContext = FeedContext & {
  readonly tail: Tail
  /** Charges for events that were read for nothing. @returns ms until more should be read */
  readonly use: (unmatched: number) => number
}

/**
 * @param after where to continue, with its id
 * @param onNews called when there may be something new. Must not throw
 */
export function createReader(
  ctx: ReaderContext,
  owner: LogOwner,
  filter: FeedFilter,
  after: { readonly cursor: Cursor; readonly id: string | null },
  onNews: () => void,
): Reader {
  const { tail, use } = ctx
  const joined = tail.join(owner, onNews)
  const { channel, moved } = joined
  let { cursor, id } = after
  let isAtEnd = false

  function takeFromRing(limit: number): readonly FeedEvent[] | null {
    const taken = takeAfter(channel, cursor, limit)
    const last = taken?.at(-1)
    if (taken === null) return null
    isAtEnd = taken.length < limit
    if (last !== undefined) {
      cursor = last
      id = last.event.id
    }
    const position = joined.position()
    if (isAtEnd && position !== null && comparePlaces(position, cursor.place) >= 0) {
      cursor = { place: position, index: Number.POSITIVE_INFINITY }
      id = channel.newestId ?? id
    }
    return taken.filter((event) => matches(filter, event))
  }

  async function readFromLog(limit: number): Promise<readonly FeedEvent[]> {
    const position = joined.position()
    const page = await readPage(ctx, owner, filter, cursor, limit)
    use(page.unmatched)
    cursor = page.cursor
    id = page.id ?? id
    isAtEnd = !page.hasMore
    // The page was read later than this, to the end of the log: nothing up to here is left.
    if (isAtEnd && position !== null && comparePlaces(position, cursor.place) > 0)
      cursor = { place: position, index: Number.POSITIVE_INFINITY }
    return page.events
  }

  return {
    moved,
    take: takeFromRing,
    next: async (limit) => takeFromRing(limit) ?? readFromLog(limit),
    position: () => id,
    isAtEnd: () => isAtEnd,
    owedMs: () => use(0),
    close: joined.leave,
  }
}
