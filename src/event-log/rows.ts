/** Converts a row of the `events` table to a recorded event. */
import type { Event, Metadata, RecordedEvent } from '../core/messages.ts'
import type { Row } from './table-rows.ts'

export const EVENT_COLUMNS =
  'position, transaction_id::text, stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash'

/** As `EVENT_COLUMNS` selects it. */
export type EventRow = Omit<Row<'events', { readonly metadata: Metadata }>, 'environment'> & {
  readonly transaction_id: string
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
