/**
 * The hash chain of a stream: each event's hash covers the one before it, so that a changed, removed, inserted or
 * reordered event can be detected.
 */
import { createHash } from 'node:crypto'
import { canonicalJson } from '../core/canonical-json.ts'
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

/** The canonical text of an event, with the table's column names as keys (RFC 8785). */
export function canonicalEvent(event: HashedEvent): string {
  return eventText({ ...event, data: canonicalJson(event.data), metadata: canonicalJson(event.metadata) })
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

/**
 * JSON writes exactly these characters as escapes. An escaped backslash may match too, which costs a second look and
 * changes nothing.
 */
const SUSPECT = /\\u(?:0000|d[89a-f])/

/**
 * The last check before an append. PostgreSQL's `jsonb` cannot store NUL or unpaired surrogates, and one event with
 * either would fail the append of all commits in its batch. Text of clients and third parties is checked on entry;
 * anything that passes is replaced by `storable`.
 *
 * @param json output of `JSON.stringify` or `canonicalJson`
 */
export function isStorable(json: string): boolean {
  return !SUSPECT.test(json)
}

/** The value with U+FFFD in place of each character that `jsonb` cannot store. */
export function storable<Value>(value: Value): Value {
  return replaced(value) as Value
}

function replaced(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('\0', '\ufffd').replace(/\p{Cs}/gu, '\ufffd')
  if (Array.isArray(value)) return value.map(replaced)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, replaced(member)]))
}
