/** Checks the hash chains of streams that are read one after the other, each from its first event. */
import { BursarError } from '../core/errors.ts'
import { canonicalEvent, chainHash } from './hash-chain.ts'
import type { EventRow } from './rows.ts'

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
  if (chainHash(before.hash, canonicalOf(event)) === event.hash.toString('hex')) return null
  return `${place} does not have the hash of its content and of the previous event: one of the two events was changed.`
}

function canonicalOf(row: EventRow): string {
  return canonicalEvent({
    streamId: row.stream_id,
    streamVersion: row.stream_version,
    type: row.type,
    schemaVersion: row.schema_version,
    data: row.data,
    metadata: row.metadata,
    recordedAt: row.recorded_at.toISOString(),
  })
}
