/**
 * The newest events for all readers of a process: each event is read and rendered once, however many readers wait for
 * it. The log is followed while there are readers.
 */
import type { LogOwner } from '../event-log/read-logged.ts'
import type { SubscriptionPosition } from '../event-log/subscription.ts'
import { beginChannels, type FollowContext, followLog, type Run } from './follow-log.ts'
import { type Channel, createRing } from './ring.ts'

const RING_BYTES = 16 * 1_024 * 1_024

export type Joined = {
  readonly channel: Channel
  /** Aborts when the database was restored to an earlier state: places of before mean other events now. */
  readonly moved: AbortSignal
  /** Everything up to here was read; null before the end of the log was found. */
  readonly position: () => SubscriptionPosition | null
  readonly leave: () => void
}

export type Tail = {
  /** @param onNews called when the channel has news, never before this has returned. Must not throw */
  readonly join: (owner: LogOwner, onNews: () => void) => Joined
  /**
   * Milliseconds that the newest event of the last read had waited; while reads fail, the time since one succeeded. 0
   * without readers, and when everything has been read.
   */
  readonly lagMs: () => number
  /** Why the last read failed; null if it did not. */
  readonly failure: () => string | null
}

export function createTail({
  clock,
  ringBytes = RING_BYTES,
  ...ctx
}: FollowContext & {
  readonly clock: () => number
  readonly ringBytes?: number
}): Tail {
  const ring = createRing(ringBytes)
  let current: Run | null = null
  let readers = 0
  let read = { atMs: 0, lagMs: 0 }
  let failure: string | null = null

  function noteRead(waitedMs: number): void {
    read = { atMs: clock(), lagMs: Math.max(0, waitedMs) }
    failure = null
  }

  function start(): Run {
    const run: Run = {
      ring,
      onRead: (newest) => noteRead(newest === undefined ? 0 : clock() - Date.parse(newest.recordedAt)),
      onFailure(error) {
        failure = error instanceof Error ? error.message : String(error)
      },
      stop: new AbortController(),
      moved: new AbortController(),
      place: null,
      isReading: false,
    }
    noteRead(0)
    void followLog(ctx, run)
    return run
  }

  return {
    lagMs: () => (current === null ? 0 : failure === null ? read.lagMs : clock() - read.atMs),
    failure: () => failure,
    join(owner, onNews) {
      let hasJoined = false
      const listener = () => {
        if (hasJoined) onNews()
      }
      const channel = ring.join(owner, listener)
      const run = current ?? start()
      current = run
      readers += 1
      beginChannels(run)
      hasJoined = true
      let hasLeft = false
      return {
        channel,
        moved: run.moved.signal,
        position: () => run.place?.position ?? null,
        leave() {
          if (hasLeft) return
          hasLeft = true
          ring.leave(channel, listener)
          readers -= 1
          if (readers > 0) return
          run.stop.abort()
          current = null
        },
      }
    },
  }
}
