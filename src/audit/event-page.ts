/** A tenant's own events, in the order of the log. */
import type { Pool } from 'pg'
import { ValidationFailed } from '../core/errors.ts'
import { eventIdOf, parseEventId } from '../core/event-ids.ts'
import { EVENT_COLUMNS, type EventRow } from '../event-log/rows.ts'
import { type Checkpoint, LOG_START } from '../event-log/subscription.ts'

export type AuditEvent = {
  readonly event_id: string
  readonly stream_id: string
  readonly stream_version: number
  readonly type: string
  readonly schema_version: number
  readonly data: unknown
  readonly metadata: unknown
  readonly recorded_at: string
  readonly hash: string
}

export type EventPage = {
  readonly events: readonly AuditEvent[]
  /** What to ask for next: the last id of this page, or of the page before when this one is empty. */
  readonly next_after: string | null
  readonly has_more: boolean
}

export type EventFilter = {
  readonly after?: string
  readonly stream?: string
  readonly type?: string
  readonly limit: number
}

/**
 * Oldest first. An event is not shown before every older one can be: a reader that goes on after the last one misses nothing.
 *
 * @throws ValidationFailed `unknown_event` when `after` is no event of the tenant
 */
export type ReadEvents = (tenantId: string, filter: EventFilter) => Promise<EventPage>

export function createReadEvents(pool: Pool): ReadEvents {
  async function placeOf(tenantId: string, eventId: string): Promise<Checkpoint> {
    const name = parseEventId(eventId)
    const { rows } = await pool.query<{ transaction_id: string; position: string }>(
      `SELECT transaction_id::text, position FROM events WHERE stream_id = $1 AND stream_version = $2 AND metadata->>'tenantId' = $3`,
      [name?.streamId, name?.streamVersion, tenantId],
    )
    const [row] = rows
    if (row !== undefined) return { transactionId: BigInt(row.transaction_id), position: BigInt(row.position) }
    throw ValidationFailed.field(
      'after',
      'unknown_event',
      'after must be the event_id of an event of yours: leave it out to start at the oldest.',
    )
  }

  return async (tenantId, { after, stream, type, limit }) => {
    const place = after === undefined ? LOG_START : await placeOf(tenantId, after)
    const { rows } = await pool.query<EventRow>({
      name: 'audit_events',
      text: `SELECT ${EVENT_COLUMNS} FROM events
              WHERE metadata->>'tenantId' = $1 AND (transaction_id, position) > ($2::xid8, $3::bigint)
                AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())
                AND ($4::text IS NULL OR stream_id = $4) AND ($5::text IS NULL OR type = $5)
              ORDER BY events.transaction_id, position LIMIT $6`,
      values: [
        tenantId,
        place.transactionId.toString(),
        place.position.toString(),
        stream ?? null,
        type ?? null,
        limit + 1,
      ],
    })
    const events = rows.slice(0, limit).map(toView)
    return { events, next_after: events.at(-1)?.event_id ?? after ?? null, has_more: rows.length > limit }
  }
}

function toView(row: EventRow): AuditEvent {
  const { stream_id, stream_version, type, schema_version, data, metadata } = row
  return {
    event_id: eventIdOf({ streamId: stream_id, streamVersion: stream_version }),
    stream_id,
    stream_version,
    type,
    schema_version,
    data,
    metadata,
    recorded_at: row.recorded_at.toISOString(),
    hash: row.hash.toString('hex'),
  }
}
