/** Events in the form of the API. Data that requires another scope is withheld. */
import { eventIdOf } from '../core/event-ids.ts'
import type { Metadata } from '../core/messages.ts'
import type { Catalogue } from '../core/registry.ts'
import type { EventRow } from '../event-log/rows.ts'
import type { View } from '../http/view.ts'
import { missingScope, type Reader } from './readers.ts'
import type { eventPageSchema } from './schemas.ts'

export type EventPage = View<typeof eventPageSchema>

export function toView(row: EventRow, reader: Reader, streams: Catalogue['streams']): EventPage['events'][number] {
  const { stream_id, stream_version, type, schema_version, data, metadata } = row
  const needs_scope = missingScope(streams, reader, { streamId: stream_id, type })
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
