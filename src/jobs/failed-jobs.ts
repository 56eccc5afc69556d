/**
 * Permanently failed jobs, for operators to list and retry: one entry for each id, however often it failed. Those whose
 * work is done go.
 */
import { ErrorCode } from 'bullmq'
import type { BullJob, BullQueue } from './bull.ts'
import type { FailedJob } from './jobs.ts'

/** Enough to see a pattern, few enough to read at once. The sweeper finds the work anyway. */
export const FAILED_KEPT = { count: 1_000, age: 7 * 24 * 60 * 60 }

export async function listFailed(queue: BullQueue, limit: number): Promise<FailedJob[]> {
  const byId = await failedById(queue)
  return [...byId].slice(0, limit).map(([id, [newest, ...older]]) => ({
    id,
    data: newest.data,
    reason: newest.failedReason ?? '',
    at: firstFrame(newest.stacktrace?.at(-1)),
    attempts: newest.attemptsMade,
    times: older.length + 1,
    failedAt: newest.finishedOn ?? 0,
  }))
}

/** Retries the failed job of an id, or all of them; returns the number of ids. */
export async function retryFailed(queue: BullQueue, id?: string): Promise<number> {
  let retried = 0
  for (const [failedId, [newest, ...older]] of await failedById(queue)) {
    if (id !== undefined && id !== failedId) continue
    // Why it failed is no reason to fail again.
    if ('reason' in newest.data) await unlessGone(newest.updateData({ ...newest.data, reason: undefined }))
    const back = await unlessGone(newest.retry('failed', { resetAttemptsMade: true, resetAttemptsStarted: true }))
    for (const job of older) await unlessGone(job.remove())
    if (back) retried += 1
  }
  return retried
}

/** Removes the failed jobs of these ids; returns the number of ids. */
export async function forgetFailed(queue: BullQueue, ids: ReadonlySet<string>): Promise<number> {
  const found = [...(await failedById(queue))].filter(([id]) => ids.has(id))
  for (const job of found.flatMap(([, jobs]) => jobs)) await unlessGone(job.remove())
  return found.length
}

type Failures = readonly [newest: BullJob, ...older: BullJob[]]

async function failedById(queue: BullQueue): Promise<Map<string, Failures>> {
  const byId = new Map<string, Failures>()
  for (const job of await queue.getFailed(0, FAILED_KEPT.count - 1)) {
    const id = job.deduplicationId ?? `#${job.id}`
    const newer = byId.get(id)
    byId.set(id, newer ? [...newer, job] : [job])
  }
  return byId
}

/** False when another operator, a worker, or the retention limit has removed the job since it was read. */
export async function unlessGone(change: Promise<unknown>): Promise<boolean> {
  try {
    await change
    return true
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === ErrorCode.JobNotExist || code === ErrorCode.JobNotInState) return false
    throw error
  }
}

function firstFrame(stack: string | undefined): string | null {
  return /^\s+(at .*)$/m.exec(stack ?? '')?.[1] ?? null
}
