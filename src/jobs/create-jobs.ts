/** Creates the job layer on PostgreSQL, or on Redis when its URL is set. The only entry point to BullMQ. */
import type { QueueLimits } from '../core/declaration.ts'
import type { QueueName } from '../core/registry.ts'
import { DEFAULT_RETRIES, type RetryPolicy } from './backoff.ts'
import { BACKOFF, type BullJob, type BullQueue, createBull } from './bull.ts'
import { FAILED_KEPT, forgetFailed, listFailed, retryFailed } from './failed-jobs.ts'
import type { Jobs, JobsLog, JobWorker, QueueCounts } from './jobs.ts'
import { findOldest } from './oldest-job.ts'
import { openQueues } from './open-queues.ts'
import { postgresWiring } from './postgres.ts'
import { createQueueLoads } from './queue-load.ts'
import { assertJob, type Job } from './queues.ts'
import { redisWiring } from './redis.ts'
import { createUnstick } from './unstick.ts'
import { startWorker } from './worker.ts'

/** PostgreSQL takes a lock for each job of a statement: far below its default of 64 per allowed connection. */
const BULK_SIZE = 500
/** An operator may retry all kept jobs, one by one. */
const RETRY_DEADLINE_MS = 60_000

/** Returns immediately, connects on first use and again after each outage. */
export function createJobs(settings: {
  /** The database of the log; holds the queues unless `redisUrl` is set. */
  readonly databaseUrl: string
  /** `redis://`, `rediss://`, `redis+cluster://` or `rediss+cluster://`. */
  readonly redisUrl?: string | undefined
  /** Every queue with its limits. The back end creates a queue on first use. */
  readonly queues: Readonly<Record<QueueName, QueueLimits>>
  /** How long a closing worker waits for its running handlers, in ms. */
  readonly graceMs: number
  readonly retries?: RetryPolicy
  readonly log: JobsLog
}): Jobs {
  const { databaseUrl, redisUrl, graceMs, log, queues: limits, retries = DEFAULT_RETRIES } = settings
  const names = Object.keys(limits) as QueueName[]
  const onError = createErrorLog(log)
  const bull = redisUrl
    ? createBull(redisWiring(redisUrl, names.length, onError), onError)
    : createBull(postgresWiring(databaseUrl, onError), onError)
  const queues = openQueues(bull, onError)
  const loads = createQueueLoads(queues, limits)
  const workers = new Set<JobWorker>()

  return {
    async add(jobs) {
      for (const job of jobs) assertJob(job)
      const bulks = names.flatMap((name) => bulksOf(name, jobs).map((bulk) => [name, bulk] as const))
      const adding = bulks.map(async ([name, bulk]) => {
        loads.note(name, await queues.on(name, (queue) => addBulk(queue, name, bulk, retries)))
      })
      await Promise.all(adding)
    },

    process(queue, handler, { concurrency }) {
      const worker = startWorker({ bull, queue, handler, concurrency, retries, graceMs, log, onError })
      workers.add(worker)
      return worker
    },

    async counts() {
      const entries = names.map(async (name) => [name, await queues.on(name, countsOf)] as const)
      return Object.fromEntries(await Promise.all(entries)) as Record<QueueName, QueueCounts>
    },

    load: loads.read,
    oldest: (name) => queues.on(name, findOldest),
    failed: (name, { limit }) => queues.on(name, (queue) => listFailed(queue, limit)),
    retry: (name, id) => queues.on(name, async (queue) => (await retryFailed(queue, id)) > 0, RETRY_DEADLINE_MS),
    forget: (name, ids) => queues.on(name, (queue) => forgetFailed(queue, ids), RETRY_DEADLINE_MS),
    retryAll: (name) => queues.on(name, (queue) => retryFailed(queue), RETRY_DEADLINE_MS),

    unstick: createUnstick({ bull, queues, names }, retries),
    async ping() {
      await queues.on('lane', (queue) => queue.isPaused()) // The cheapest call that needs an answer.
    },

    async close() {
      await Promise.all([...workers].map((worker) => worker.close()))
      await queues.close()
      await bull.close()
    },
  }
}

/** The jobs for one queue, each id once (the later data win), split into chunks of one statement each. */
function bulksOf(name: QueueName, jobs: readonly Job[]): readonly (readonly Job[])[] {
  const byId = new Map(jobs.filter((job) => job.queue === name).map((job) => [job.id, job]))
  const distinct = [...byId.values()]
  const count = Math.ceil(distinct.length / BULK_SIZE)
  return Array.from({ length: count }, (_, index) => distinct.slice(index * BULK_SIZE, (index + 1) * BULK_SIZE))
}

/**
 * The id is passed as a deduplication id, not as BullMQ's job id. The latter would also refuse a job while another of
 * its id runs, so that work arriving then would be missed, and while one is kept among the failed.
 */
async function addBulk(
  queue: BullQueue,
  name: QueueName,
  jobs: readonly Job[],
  retries: RetryPolicy,
): Promise<BullJob[]> {
  return queue.addBulk(
    jobs.map(({ id, data }) => ({
      name,
      data,
      opts: {
        deduplication: { id, keepLastIfActive: true },
        attempts: retries.attempts,
        backoff: { type: BACKOFF },
        removeOnComplete: true,
        removeOnFail: FAILED_KEPT,
        stackTraceLimit: 1,
      },
    })),
  )
}

async function countsOf(queue: BullQueue): Promise<QueueCounts> {
  const counted = await queue.getJobCounts('waiting', 'active', 'delayed', 'failed')
  const { waiting = 0, active = 0, delayed = 0, failed = 0 } = counted
  return { waiting, active, delayed, failed }
}

/** Between two lines about errors of the back end. */
const ERROR_LOG_MS = 10_000

/**
 * Returns a function that logs errors of the back end without flooding the log. An outage causes hundreds of connection
 * errors: the first is logged, then one line per interval with a count.
 *
 * @param now a monotonic clock, ms
 */
export function createErrorLog(
  log: JobsLog,
  now: () => number = () => performance.now(),
): (error: unknown, fields: object) => void {
  let quietUntil = 0
  let suppressed = 0
  return (error, fields) => {
    if (now() < quietUntil) {
      suppressed += 1
      return
    }
    log.warn({ ...fields, err: error, suppressed }, 'queue back end error')
    suppressed = 0
    quietUntil = now() + ERROR_LOG_MS
  }
}
