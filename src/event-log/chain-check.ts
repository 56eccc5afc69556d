/** Checks that an event continues the hash chain of its stream. */

import { canonicalJson } from '../core/canonical-json.ts'
import { chainHash, eventText } from './hash-chain.ts'
import { type EventRow, storedText } from './rows.ts'

/**
 * What is wrong with an event that is read after `before` in its stream; `null` when it continues the chain.
 *
 * @param before version and hash of the event before it; 0 and the empty string for the first event
 */
export function chainProblem(
  before: { readonly version: number; readonly hash: string },
  event: EventRow,
): string | null {
  const problem = versionProblem(before, event)
  if (problem !== null) return problem
  const hash = event.hash.toString('hex')
  if (hash === hashOf(before.hash, event, storedText) || hash === hashOf(before.hash, event, canonicalOrNone))
    return null
  return `${placeOf(event)} does not have the hash of its content and of the previous event: one of the two events was changed.`
}

/** What is wrong with the version of an event that is read after another; `null` when it is the next one. */
export function versionProblem(
  before: { readonly version: number },
  event: Pick<EventRow, 'position' | 'stream_id' | 'stream_version'>,
): string | null {
  if (event.stream_version === before.version + 1) return null
  return `${placeOf(event)} comes after version ${before.version} of its stream: the events between them are missing.`
}

/** An event for people: its position, its stream and its version. */
export function placeOf(event: Pick<EventRow, 'position' | 'stream_id' | 'stream_version'>): string {
  return `Event ${event.position} (${event.stream_id}, version ${event.stream_version})`
}

/** @param textOf the text of data and metadata; undefined where they have none in that form */
function hashOf(previous: string, row: EventRow, textOf: (value: unknown) => string | undefined): string | null {
  const [data, metadata] = [textOf(row.data), textOf(row.metadata)]
  if (data === undefined || metadata === undefined) return null
  return chainHash(
    previous,
    eventText({
      streamId: row.stream_id,
      streamVersion: row.stream_version,
      type: row.type,
      schemaVersion: row.schema_version,
      data,
      metadata,
      recordedAt: row.recorded_at.toISOString(),
    }),
  )
}

/** Events from before their text was stored have the hash of their canonical text. */
function canonicalOrNone(value: unknown): string | undefined {
  try {
    return canonicalJson(value)
  } catch {
    return undefined // A fraction or an unsafe number: no canonical text has them.
  }
}
