/** The events of a tenant in one environment, in log order. Data that requires another scope is withheld. */
import type { Pool } from 'pg'
import { ValidationFailed } from '../core/errors.ts'
import { eventIdOf } from '../core/event-ids.ts'
import type { Metadata } from '../core/messages.ts'
import { EVENT_COLUMNS, type EventRow } from '../event-log/rows.ts'
import { LOG_START } from '../event-log/subscription.ts'
import { createFindEvent } from './find-event.ts'
import { missingScope, type Reader } from './readers.ts'

export type AuditEvent = {
  readonly event_id: string
  readonly stream_id: string
  readonly stream_version: number
  readonly type: string
  readonly schema_version: number
  /** Null when `needs_scope` names a scope. */
  readonly data: unknown
  /** `*` where only a key for all scopes may read the data. */
  readonly needs_scope: string | null
  readonly metadata: unknown
  readonly recorded_at: string
  readonly hash: string
}

export type EventPage = {
  readonly events: readonly AuditEvent[]
  /**
   * The value of `after` for the next page: the last id of this page, or of the previous page when this one is empty.
   */
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
 * Oldest first. An event is shown only when every older one can be: a reader that continues after the last one misses
 * nothing.
 *
 * @throws ValidationFailed `unknown_event` when `after` is not an event of the tenant in this environment
 */
export type ReadEvents = (reader: Reader, filter: EventFilter) => Promise<EventPage>

export function createReadEvents(pool: Pool): ReadEvents {
  const findEvent = createFindEvent(pool)

  async function placeOf(reader: Reader, eventId: string) {
    const found = await findEvent(reader, eventId)
    if (found !== undefined) return found.place
    throw ValidationFailed.field(
      'after',
      'unknown_event',
      'after must be the event_id of an event of yours: leave it out to start at the oldest.',
    )
  }

  return async (reader, { after, stream, type, limit }) => {
    const place = after === undefined ? LOG_START : await placeOf(reader, after)
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
    const events = rows.slice(0, limit).map((row) => toView(row, reader))
    return { events, next_after: events.at(-1)?.event_id ?? after ?? null, has_more: rows.length > limit }
  }
}

function toView(row: EventRow, reader: Reader): AuditEvent {
  const { stream_id, stream_version, type, schema_version, data, metadata } = row
  const needs_scope = missingScope(reader, { streamId: stream_id, type })
  const isShown = needs_scope === null
  return {
    event_id: eventIdOf({ streamId: stream_id, streamVersion: stream_version }),
    stream_id,
    stream_version,
    type,
    schema_version,
    data: isShown ? data : null,
    needs_scope,
    metadata: isShown ? metadata : withoutRequest(metadata as Metadata),
    recorded_at: row.recorded_at.toISOString(),
    hash: row.hash.toString('hex'),
  }
}

/** Removes the client's key and the digest of its body, from which the body could be guessed. */
function withoutRequest({ idempotency: _withheld, ...metadata }: Metadata): Metadata {
  return metadata
}
