/** The events of a tenant in one environment, in log order. */

import type { Pool } from 'pg'
import type { Context } from '../context.ts'
import { ValidationFailed } from '../core/errors.ts'
import { EVENT_COLUMNS, type EventRow } from '../event-log/rows.ts'
import { LOG_START } from '../event-log/subscription.ts'
import { findEvent } from './find-event.ts'
import type { Reader } from './readers.ts'
import { type EventPage, toView } from './view.ts'

export type EventFilter = {
  readonly after?: string
  readonly stream?: string
  readonly type?: string
  readonly limit: number
}

/**
 * Oldest first. An event is shown only when every older one can be: a reader that continues after the last one misses
 * nothing.
 *
 * @throws ValidationFailed `unknown_event` when `after` is not an event of the tenant in this environment
 */
export async function readEvents(
  { pool, catalogue }: Pick<Context, 'pool' | 'catalogue'>,
  reader: Reader,
  { after, stream, type, limit }: EventFilter,
): Promise<EventPage> {
  const place = after === undefined ? LOG_START : await placeOf(pool, reader, after)
  const { rows } = await pool.query<EventRow>({
    name: 'audit_events',
    text: `SELECT ${EVENT_COLUMNS} FROM events
            WHERE metadata->>'tenantId' = $1 AND environment = $7 AND (transaction_id, position) > ($2::xid8, $3::bigint)
              AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())
              AND ($4::text IS NULL OR stream_id = $4) AND ($5::text IS NULL OR type = $5)
            ORDER BY events.transaction_id, position LIMIT $6`,
    values: [
      reader.tenantId,
      place.transactionId.toString(),
      place.position.toString(),
      stream ?? null,
      type ?? null,
      limit + 1,
      reader.environment,
    ],
  })
  const events = rows.slice(0, limit).map((row) => toView(row, reader, catalogue.streams))
  return { events, next_after: events.at(-1)?.event_id ?? after ?? null, has_more: rows.length > limit }
}

async function placeOf(pool: Pool, reader: Reader, eventId: string) {
  const found = await findEvent(pool, reader, eventId)
  if (found !== undefined) return found.place
  throw ValidationFailed.field(
    'after',
    'unknown_event',
    'after must be the event_id of one of your events: omit it to start with the oldest event.',
  )
}
