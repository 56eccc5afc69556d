/** Rows of the `events` table: as they are read, and as recorded events. */
import pg, { type CustomTypesConfig } from 'pg'
import type { Event, Metadata, RecordedEvent } from '../core/messages.ts'
import type { Row } from './table-rows.ts'

export const EVENT_COLUMNS =
  'position, transaction_id::text, stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash'

/** As `EVENT_COLUMNS` selects it. */
export type EventRow = Omit<Row<'events', { readonly metadata: Metadata }>, 'environment'> & {
  readonly transaction_id: string
}

const texts = new WeakMap<object, string>()

/**
 * For statements that read whole events: the text of data and metadata is kept beside what it was parsed to. The hash of
 * an event is over that text.
 */
export const STORED_TEXTS: CustomTypesConfig = {
  getTypeParser: ((type: number, format: 'text') =>
    type === pg.types.builtins.JSON ? parseStored : pg.types.getTypeParser(type, format)) as never,
}

function parseStored(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (typeof value === 'object' && value !== null) texts.set(value, text)
  return value
}

/** The text of data or metadata as it is stored; undefined if the statement did not keep it. */
export function storedText(value: unknown): string | undefined {
  return typeof value === 'object' && value !== null ? texts.get(value) : undefined
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

/** The rows of each stream, in the order of the streams. */
export function ofEach<Row extends Pick<EventRow, 'stream_id'>>(
  streamIds: readonly string[],
  rows: readonly Row[],
): readonly (readonly Row[])[] {
  const known = new Map<string, Row[]>(streamIds.map((id) => [id, []]))
  for (const row of rows) known.get(row.stream_id)?.push(row)
  return streamIds.map((id) => known.get(id) ?? [])
}
