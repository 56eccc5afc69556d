/**
 * A cache of folded states of streams, so that the next event of a long stream does not cost a read of the whole stream.
 *
 * Invariant: a checkpoint is a starting point for reading, never a result. The reader compares its hash with the log,
 * which may have been restored to an earlier state.
 */
import { LRUCache } from 'lru-cache'
import type { Event } from '../core/messages.ts'

/** A stream up to one of its events. */
export type Checkpoint = {
  readonly streamId: string
  readonly version: number
  /** Of the event with this version. */
  readonly hash: Buffer
  readonly first: Event
  readonly state: unknown
}

export type Checkpoints = {
  /** The newest one of the stream before a version. */
  readonly before: (streamId: string, version: number) => Checkpoint | undefined
  readonly keep: (checkpoint: Checkpoint) => void
  readonly drop: (checkpoint: Checkpoint) => void
  readonly forget: (streamId: string) => void
}

/** @param mostBytes in memory, estimated; the least recently used go first */
export function createCheckpoints(mostBytes: number): Checkpoints {
  const streams = new Map<string, readonly Checkpoint[]>()
  const kept = new LRUCache<Checkpoint, true>({
    maxSize: mostBytes,
    sizeCalculation: (_, { first, state }) => sizeOf(first) + sizeOf(state),
    dispose(_, gone) {
      const left = (streams.get(gone.streamId) ?? []).filter((one) => one !== gone)
      if (left.length > 0) streams.set(gone.streamId, left)
      else streams.delete(gone.streamId)
    },
  })
  return {
    before(streamId, version) {
      const found = streams.get(streamId)?.findLast((one) => one.version < version)
      if (found !== undefined) kept.get(found)
      return found
    },
    keep(checkpoint) {
      const same = streams.get(checkpoint.streamId)?.find(({ version }) => version === checkpoint.version)
      if (same !== undefined) kept.delete(same)
      kept.set(checkpoint, true)
      // One that alone is too large is not kept.
      if (!kept.has(checkpoint)) return
      const others = streams.get(checkpoint.streamId) ?? []
      streams.set(
        checkpoint.streamId,
        [...others, checkpoint].sort((a, b) => a.version - b.version),
      )
    },
    drop: (checkpoint) => void kept.delete(checkpoint),
    forget(streamId) {
      for (const checkpoint of streams.get(streamId) ?? []) kept.delete(checkpoint)
    },
  }
}

const OBJECT_BYTES = 64
const MEMBER_BYTES = 16

/** Bytes in memory, about. What states share is counted for each. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return MEMBER_BYTES + value.length
  if (typeof value !== 'object' || value === null) return MEMBER_BYTES
  let bytes = OBJECT_BYTES
  for (const member of Object.values(value)) bytes += MEMBER_BYTES + sizeOf(member)
  return bytes
}
