/**
 * The hash chain of a stream: each event's hash covers the one before it, so that a changed, removed, inserted or
 * reordered event can be detected.
 */
import { createHash } from 'node:crypto'
import { canonicalData, canonicalJson } from '../core/canonical-json.ts'
import type { Metadata } from '../core/messages.ts'

/** The hashed fields: everything about an event that the caller decides. */
export type HashedEvent = {
  readonly streamId: string
  readonly streamVersion: number
  readonly type: string
  readonly schemaVersion: number
  readonly data: unknown
  readonly metadata: Metadata
  readonly recordedAt: string
}

/** The canonical text of an event, with the table's column names as keys (RFC 8785). Amounts are bigint until here. */
export function canonicalEvent(event: HashedEvent): string {
  return eventText({ ...event, data: canonicalData(event.data), metadata: canonicalJson(event.metadata) })
}

/**
 * The text of an event around that of its data and metadata, which is canonical where theirs is. `append_commits` builds
 * the same, and verifies the hash of it.
 */
export function eventText(
  event: Omit<HashedEvent, 'data' | 'metadata'> & { readonly data: string; readonly metadata: string },
): string {
  return (
    `{"data":${event.data},"metadata":${event.metadata},"recorded_at":"${event.recordedAt}","schema_version":${event.schemaVersion},` +
    `"stream_id":${JSON.stringify(event.streamId)},"stream_version":${event.streamVersion},"type":${JSON.stringify(event.type)}}`
  )
}

/**
 * SHA-256 (FIPS 180-4), hex, of the previous hash, a line feed and the canonical event.
 *
 * @param previousHash hex, or the empty string before the first event of a stream
 */
export function chainHash(previousHash: string, canonical: string): string {
  return createHash('sha256').update(previousHash).update('\n').update(canonical).digest('hex')
}
