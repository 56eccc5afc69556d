/**
 * How many of its partitions a process keeps when others work on partitions too. Those that hold some get their share, and of
 * those that live and hold none one at a time: if it takes nothing, it may be dead or hang, and is tried again later.
 *
 * Invariant: what nobody takes is taken back after a moment, whoever says that he lives.
 */
import { type Clockwork, REAL_TIME } from './clockwork.ts'
import type { Drain } from './drain.ts'

export type Others = {
  /** Processes that hold partitions, without this one. */
  readonly holders: number
  /** Those that say that they live, and hold none. */
  readonly idle: number
}

export type Share = {
  /** Processes that live, or say so, with this one; `null` before the first look. */
  readonly living: () => number | null
  /** Whether partitions that this process does not hold are for others now. */
  readonly isForOthers: () => boolean
  /** Gives back what is above the share. To be called every few seconds. */
  readonly look: () => Promise<void>
}

/** For so long after a process gave partitions back it takes no more than its share: they go to others. */
const GIVING_MS = 2_000
/** Until one that took nothing is tried again; twice as long each time. */
const FIRST_PAUSE_MS = 10_000
const LONGEST_PAUSE_MS = 60_000

export function createShare(ports: {
  readonly partitions: number
  readonly drain: Pick<Drain, 'held' | 'keepOnly'>
  readonly others: () => Promise<Others>
  readonly time?: Pick<Clockwork, 'now'>
}): Share {
  const { partitions, drain, others, time = REAL_TIME } = ports
  let living: number | null = null
  let share = partitions
  let givesUntil = Number.NEGATIVE_INFINITY
  /** How many others held some when an idle one was given something. */
  let heldBefore: number | null = null
  let pauseMs = 0
  let triesAt = Number.NEGATIVE_INFINITY

  function judge(holders: number): void {
    if (heldBefore === null) return
    pauseMs = holders > heldBefore ? 0 : Math.min(Math.max(2 * pauseMs, FIRST_PAUSE_MS), LONGEST_PAUSE_MS)
    triesAt = time.now() + pauseMs
    heldBefore = null
  }

  return {
    living: () => living,
    isForOthers: () => time.now() < givesUntil && drain.held() >= share,
    async look() {
      if (drain.held() === 0 && living !== null) return
      const { holders, idle } = await others()
      judge(holders)
      living = 1 + holders + idle
      const isTried = idle > 0 && time.now() >= triesAt
      // Rounded down, or four with four of sixteen each would have nothing for a fifth.
      share = isTried ? Math.max(1, Math.floor(partitions / (2 + holders))) : Math.ceil(partitions / (1 + holders))
      if (drain.held() <= share) return
      if (isTried) heldBefore = holders
      givesUntil = time.now() + GIVING_MS
      drain.keepOnly(share)
    },
  }
}
