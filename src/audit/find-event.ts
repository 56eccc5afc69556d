/** Finds an event for a reader. An event of another tenant or environment counts as nonexistent. */
import type { Pool } from 'pg'
import { parseEventId } from '../core/event-ids.ts'
import type { EventRow } from '../event-log/rows.ts'
import type { SubscriptionPosition } from '../event-log/subscription.ts'
import type { Reader } from './readers.ts'

export type FoundEvent = { readonly place: SubscriptionPosition; readonly streamId: string; readonly type: string }

/** @returns undefined when the reader has no such event */
export async function findEvent(
  pool: Pool,
  { tenantId, environment }: Reader,
  eventId: string,
): Promise<FoundEvent | undefined> {
  const name = parseEventId(eventId)
  if (name === undefined) return undefined
  const { rows } = await pool.query<Pick<EventRow, 'transaction_id' | 'position' | 'type'>>({
    name: 'audit_find_event',
    text: `SELECT transaction_id::text, position, type FROM events
            WHERE stream_id = $1 AND stream_version = $2 AND metadata->>'tenantId' = $3 AND environment = $4`,
    values: [name.streamId, name.streamVersion, tenantId, environment],
  })
  const [row] = rows
  if (row === undefined) return undefined
  const place = { transactionId: BigInt(row.transaction_id), position: BigInt(row.position) }
  return { place, streamId: name.streamId, type: row.type }
}
