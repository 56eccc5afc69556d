/**
 * A cache of the states this process wrote recently: a process that soon writes the same streams again (the follower,
 * when a block gets its confirmations) reads only what others appended since.
 *
 * Invariant: a cached state is a starting point for reading, never a result. The reader compares its hash with the log,
 * which may have been restored to an earlier state, and drops the cached state when they differ.
 */
import { LRUCache } from 'lru-cache'
import type { Change, Loaded } from './aggregate.ts'

export type RecentStates = {
  readonly of: (streamId: string) => Loaded<unknown> | undefined
  /** Call only with changes that are in the log for certain. */
  readonly remember: (changes: readonly Change[]) => void
  readonly forget: (streamIds: readonly string[]) => void
}

export type RecentSettings = {
  /** Cache size; the least recently used go first; 0 disables it. */
  readonly streams: number
  /** Shorter streams are not cached: reading them costs little. */
  readonly fromVersion: number
}

export function createRecentStates({ streams, fromVersion }: RecentSettings): RecentStates {
  if (streams === 0) return { of: () => undefined, remember: () => undefined, forget: () => undefined }
  const states = new LRUCache<string, Loaded<unknown>>({ max: streams })
  return {
    of: (streamId) => states.get(streamId),
    remember(changes) {
      for (const { events, after, hasEnded } of changes) {
        const [first] = events
        if (first === undefined) continue
        if (hasEnded) states.delete(first.streamId)
        else if (after.version >= fromVersion) states.set(first.streamId, after)
      }
    },
    forget(streamIds) {
      for (const streamId of streamIds) states.delete(streamId)
    },
  }
}
