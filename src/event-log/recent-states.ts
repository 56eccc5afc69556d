/**
 * What this process lately wrote, kept in memory: who writes the same streams again soon (the follower, when a block gets
 * deep enough) reads only what others appended since.
 *
 * Invariant: a state is a place to go on reading from, never an answer by itself. Whoever reads on compares the hash of its newest
 * event with the log, which may have gone back to an earlier state, and forgets the state where they differ.
 */
import { LRUCache } from 'lru-cache'
import type { Change, Loaded } from './aggregate.ts'

export type RecentStates = {
  readonly of: (streamId: string) => Loaded<unknown> | undefined
  /** To be told of what is in the log for certain. */
  readonly remember: (changes: readonly Change[]) => void
  readonly forget: (streamIds: readonly string[]) => void
}

/** @param streams how many are kept, the least recently used go first; 0 for none */
export function createRecentStates(streams: number): RecentStates {
  if (streams === 0) return { of: () => undefined, remember: () => undefined, forget: () => undefined }
  const states = new LRUCache<string, Loaded<unknown>>({ max: streams })
  return {
    of: (streamId) => states.get(streamId),
    remember(changes) {
      for (const { events, after } of changes) {
        const [first] = events
        if (first !== undefined) states.set(first.streamId, after)
      }
    },
    forget(streamIds) {
      for (const streamId of streamIds) states.delete(streamId)
    },
  }
}
