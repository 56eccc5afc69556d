/**
 * Jobs that a queue accepts. Ids and tenants come from read models, into which whoever has a database login may have
 * written any text: one job that no queue accepts must not hold up all others, in each try again.
 */
import type { JobsLog } from './jobs.ts'
import { assertJob, type Job } from './queues.ts'

/** The jobs without those that are malformed, each of which is reported. */
export function soundJobs(jobs: readonly Job[], log: Pick<JobsLog, 'warn'>): readonly Job[] {
  return jobs.filter((job) => {
    try {
      assertJob(job)
      return true
    } catch (error) {
      log.warn({ err: error, queue: job.queue, id: job.id }, 'a malformed job is not queued; the others are')
      return false
    }
  })
}
