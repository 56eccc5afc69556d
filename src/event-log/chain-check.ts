/** Checks the hash chains of streams that are read one after the other, each from its first event. */

import { canonicalJson } from '../core/canonical-json.ts'
import { BursarError } from '../core/errors.ts'
import { chainHash, eventText } from './hash-chain.ts'
import { type EventRow, storedText } from './rows.ts'

/** An event was changed after it was appended, or an event before it is missing. */
export class BrokenChain extends BursarError {
  override readonly type = 'conflict'
  override readonly code = 'broken_chain'
}

/** @throws BrokenChain (from the function) at the first event that does not continue the chain */
export function createChainCheck(): (event: EventRow) => void {
  let streamId = ''
  let version = 0
  let hash = ''
  return (event) => {
    if (event.stream_id !== streamId) {
      streamId = event.stream_id
      version = 0
      hash = ''
    }
    const problem = chainProblem({ version, hash }, event)
    if (problem !== null) throw new BrokenChain(problem)
    version = event.stream_version
    hash = event.hash.toString('hex')
  }
}

/**
 * What is wrong with an event that is read after `before` in its stream; `null` when it continues the chain.
 *
 * @param before version and hash of the event before it; 0 and the empty string for the first event
 */
export function chainProblem(
  before: { readonly version: number; readonly hash: string },
  event: EventRow,
): string | null {
  const place = `Event ${event.position} (${event.stream_id}, version ${event.stream_version})`
  if (event.stream_version !== before.version + 1) {
    return `${place} comes after version ${before.version} of its stream: the events between them are missing.`
  }
  const hash = event.hash.toString('hex')
  if (hash === hashOf(before.hash, event, storedText) || hash === hashOf(before.hash, event, canonicalOrNone))
    return null
  return `${place} does not have the hash of its content and of the previous event: one of the two events was changed.`
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
