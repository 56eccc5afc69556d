/**
 * Frees jobs whose wait would not end. BullMQ computes retries, and on PostgreSQL also lock expiry, from the clock of
 * the process that wrote them: if that clock was an hour ahead, or the reader's is an hour behind, a lane would stop
 * for an hour, since a job whose id waits is not added again.
 */

import type { QueueName } from '../core/registry.ts'
import type { RetryPolicy } from './backoff.ts'
import type { Bull } from './bull.ts'
import { unlessGone } from './failed-jobs.ts'
import type { OpenQueues } from './open-queues.ts'
import { createStandstill } from './standstill.ts'

/** More jobs than this wait only during an outage; they are then freed gradually. */
const MAX_DELAYED = 500
/** How late a retry may be: workers check every few seconds. */
const LATE_MS = 2_000
/** A live worker renews a lock twice in its 3 s: an unchanged lock older than this belongs to a dead worker. */
const LOCK_STANDS_MS = 6_000

/** @returns the number of freed jobs; call it periodically */
export type Unstick = () => Promise<number>

export function createUnstick(
  {
    bull,
    queues,
    names,
  }: {
    readonly bull: Pick<Bull, 'locks' | 'look'>
    readonly queues: Pick<OpenQueues, 'on'>
    readonly names: readonly QueueName[]
  },
  retries: RetryPolicy,
  timer?: () => number,
): Unstick {
  const delayed = new Map(names.map((name) => [name, createStandstill(retries.capMs + LATE_MS, timer)] as const))
  const locked = createStandstill(LOCK_STANDS_MS, timer)

  async function promote(name: QueueName, hasDelayed: boolean): Promise<number> {
    if (!hasDelayed) {
      delayed.get(name)?.(new Map())
      return 0
    }
    return queues.on(name, async (queue) => {
      const jobs = new Map((await queue.getDelayed(0, MAX_DELAYED - 1)).map((job) => [job.id ?? '', job]))
      const marks = new Map([...jobs].map(([id, { attemptsMade }]) => [id, String(attemptsMade)]))
      const overdue = delayed.get(name)?.(marks) ?? []
      const freed = await Promise.all(overdue.map((id) => unlessGone(jobs.get(id)?.promote() ?? Promise.resolve())))
      return freed.filter(Boolean).length
    })
  }

  async function unlock(hasActive: boolean): Promise<number> {
    if (bull.locks === null) return 0
    const dead = locked(hasActive ? await bull.locks.read() : new Map())
    if (dead.length > 0) await bull.locks.drop(dead)
    return dead.length
  }

  return async () => {
    const seen = (await bull.look?.(names)) ?? null
    const hasActive = seen === null || [...seen.values()].some((queue) => queue.hasActive)
    const promoting = names.map((name) => promote(name, seen === null || seen.get(name)?.hasDelayed === true))
    const freed = await Promise.all([...promoting, unlock(hasActive)])
    return freed.reduce((sum, count) => sum + count, 0)
  }
}
