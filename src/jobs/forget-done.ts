/**
 * Removes failed jobs whose work is done: what was missing is there now, and a later job did the work. Of every queue, by
 * what its capability knows of its work.
 *
 * Invariant: a failed job stays as long as its work is not done, so that an operator finds the error.
 */
import type { Pool } from 'pg'
import type { QueueName } from '../core/registry.ts'
import { FAILED_KEPT } from './failed-jobs.ts'
import type { Jobs } from './jobs.ts'

/** Failed jobs are rare, and kept for days. */
export const FORGET_INTERVAL_MS = 30_000

/** Of these job ids those whose work is not done. */
export type FindOpen = (pool: Pool, ids: readonly string[]) => Promise<readonly string[]>

/** Removes failed jobs of these queues; returns their number. */
export async function forgetDone(
  { pool, jobs }: { readonly pool: Pool; readonly jobs: Pick<Jobs, 'counts' | 'failed' | 'forget'> },
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
