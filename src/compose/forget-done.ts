/**
 * Removes failed jobs whose work is done: what was missing is there now, and a later job did the work. Of every queue, by
 * what its capability knows of its work.
 *
 * Invariant: a failed job stays as long as its work is not done, so that an operator finds the error.
 */
import type { Pool } from 'pg'
import type { QueueName } from '../core/registry.ts'
import { mpcQueue } from '../declarations.ts'
import { FAILED_KEPT } from '../jobs/failed-jobs.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { findOpenLanes } from '../transactions/jobs.ts'
import { findDueLines } from '../webhooks/due-webhooks.ts'
import { WORK } from './capabilities.ts'
import type { Kernel } from './kernel.ts'

/** Failed jobs are rare, and kept for days. */
export const FORGET_INTERVAL_MS = 30_000

/** Of these job ids those whose work is not done. */
type FindOpen = (pool: Pool, ids: readonly string[]) => Promise<readonly string[]>

/** For every queue of the dispatcher. @param sentMs bytes that were submitted longer ago are submitted again */
export function openWork(sentMs: number): ReadonlyMap<QueueName, FindOpen> {
  const lanes = (['lane', 'submit'] as const).map((queue) => {
    const findOpen: FindOpen = (pool, ids) => findOpenLanes(pool, queue, ids, sentMs)
    return { queue, findOpen }
  })
  return new Map(
    [...lanes, ...WORK].flatMap(({ queue, findOpen }) => [
      [queue, findOpen],
      [mpcQueue(queue), findOpen],
    ]),
  )
}

/** Webhooks that are not disabled and have something to be sent, now or later. */
export const OPEN_WEBHOOKS: ReadonlyMap<QueueName, FindOpen> = new Map([
  ['webhook', (pool) => findDueLines(pool, new Date('9999-01-01'))],
])

/** Removes failed jobs of these queues; returns their number. */
export async function forgetDone(
  { pool, jobs }: Pick<Kernel, 'pool'> & { readonly jobs: Pick<Jobs, 'counts' | 'failed' | 'forget'> },
  open: ReadonlyMap<QueueName, FindOpen>,
): Promise<number> {
  const counts = await jobs.counts()
  let forgotten = 0
  for (const [queue, findOpen] of open) {
    if (counts[queue].failed === 0) continue
    const ids = (await jobs.failed(queue, { limit: FAILED_KEPT.count })).map(({ id }) => id)
    const left = new Set(await findOpen(pool, ids))
    // A job without an id of Bursar is of another program: nobody knows its work.
    forgotten += await jobs.forget(queue, new Set(ids.filter((id) => !left.has(id) && !id.startsWith('#'))))
  }
  return forgotten
}
