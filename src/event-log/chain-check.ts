/** Checks the hash chains of streams that are read one after the other, each from its first event. */
import { BursarError } from '../core/errors.ts'
import { canonicalEvent, chainHash } from './hash-chain.ts'
import type { EventRow } from './rows.ts'

/** An event is not what was appended, or one is missing before it. */
class BrokenChain extends BursarError {
  override readonly type = 'conflict'
  override readonly code = 'broken_chain'
}

/** @throws BrokenChain (from the function) at the first event that does not follow from the one before it */
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
    version += 1
    const place = `Event ${event.position} (${streamId}, version ${event.stream_version})`
    if (event.stream_version !== version) {
      throw new BrokenChain(
        `${place} follows on version ${version - 1} of its stream: what was between them is missing.`,
      )
    }
    hash = chainHash(hash, canonicalOf(event))
    if (hash !== event.hash.toString('hex')) {
      throw new BrokenChain(
        `${place} does not have the hash that follows from its content and the event before it: one of them was changed.`,
      )
    }
  }
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
