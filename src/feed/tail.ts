/**
 * The newest events for all readers of a process: each event is read and rendered once, however many readers wait for
 * it. The log is followed while there are readers.
 */
import type { Latch } from '../core/latch.ts'
import type { LogOwner } from '../event-log/read-logged.ts'
import type { SubscriptionPosition } from '../event-log/subscription.ts'
import { beginChannels, type FollowPorts, followLog, type Run } from './follow-log.ts'
import { type Channel, createRing } from './ring.ts'

const RING_BYTES = 16 * 1_024 * 1_024

export type Joined = {
  readonly channel: Channel
  /** Set when the channel has news. */
  readonly news: Latch
  /** Aborts when the database was restored to an earlier state: places of before mean other events now. */
  readonly moved: AbortSignal
  /** Everything up to here was read; null before the end of the log was found. */
  readonly position: () => SubscriptionPosition | null
  readonly leave: () => void
}

export type Tail = {
  readonly join: (owner: LogOwner) => Joined
  /** Seconds from the record of the newest event to its read; 0 while nothing was read. */
  readonly lagSeconds: () => number
}

export type TailPorts = Omit<FollowPorts, 'ring' | 'onRead'> & {
  readonly clock: () => number
  readonly ringBytes?: number
}

export function createTail({ clock, ringBytes = RING_BYTES, ...ports }: TailPorts): Tail {
  const ring = createRing(ringBytes)
  let current: Run | null = null
  let readers = 0
  let lagSeconds = 0

  function start(): Run {
    const run = { stop: new AbortController(), moved: new AbortController(), place: null, isReading: false }
    const onRead: FollowPorts['onRead'] = ({ recordedAt }) => {
      lagSeconds = Math.max(0, clock() - Date.parse(recordedAt)) / 1_000
    }
    void followLog({ ...ports, ring, onRead }, run)
    return run
  }

  return {
    lagSeconds: () => lagSeconds,
    join(owner) {
      const { channel, latch } = ring.join(owner)
      const run = current ?? start()
      current = run
      readers += 1
      beginChannels(ring, run)
      let hasLeft = false
      return {
        channel,
        news: latch,
        moved: run.moved.signal,
        position: () => run.place?.position ?? null,
        leave() {
          if (hasLeft) return
          hasLeft = true
          ring.leave(channel, latch)
          readers -= 1
          if (readers > 0) return
          run.stop.abort()
          current = null
        },
      }
    },
  }
}
