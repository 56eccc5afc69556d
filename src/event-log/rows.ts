/** Converts a row of the `events` table to a recorded event. */
import type { Event, Metadata, RecordedEvent } from '../core/messages.ts'

export const EVENT_COLUMNS =
  'position, transaction_id::text, stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash'

export type EventRow = {
  readonly position: string
  readonly transaction_id: string
  readonly stream_id: string
  readonly stream_version: number
  readonly type: string
  readonly schema_version: number
  readonly data: unknown
  readonly metadata: Metadata
  readonly recorded_at: Date
  readonly hash: Buffer
}

export function toRecorded<E extends Event>(row: EventRow, event: E): RecordedEvent<E> {
  return {
    ...event,
    position: BigInt(row.position),
    streamId: row.stream_id,
    streamVersion: row.stream_version,
    metadata: row.metadata,
    recordedAt: row.recorded_at.toISOString(),
    hash: row.hash.toString('hex'),
  }
}
