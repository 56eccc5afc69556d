/**
 * The job layer as the rest of Bursar sees it; nothing here knows what carries the jobs.
 *
 * Invariant: a job that was added is run at least once while its queue keeps its data. It may run twice, late, out of
 * order, or never when the queue is emptied; the sweeper finds work that no job speaks of.
 */
import type { Job, JobData, QueueName } from './queues.ts'

/** What a handler may know beside the ids. */
export type JobContext = {
  readonly id: string
  /** 1 for the first try. */
  readonly attempt: number
  /** Fires when the worker is asked to close: a long handler ends at its next safe point. */
  readonly signal: AbortSignal
}

/**
 * Does what the state behind the ids asks for.
 *
 * @throws a `BursarError` that is not retryable to put the job to the failed ones at once; anything else to be tried
 *   again, a bounded number of times
 */
export type JobHandler = (data: JobData, context: JobContext) => Promise<void>

export type JobWorker = {
  /** Takes no more jobs and waits for the running handlers, at most the grace time. Never throws. */
  readonly close: () => Promise<void>
}

/** Jobs of a queue by state. `delayed` are those that wait for their next try. */
export type QueueCounts = {
  readonly waiting: number
  readonly active: number
  readonly delayed: number
  readonly failed: number
}

/** What a tenant has in a queue. */
export type TenantLoad = {
  /** Jobs that wait for a worker or have one. */
  readonly running: number
  /** Jobs that failed and wait for their next try. */
  readonly failing: number
}

/** What a queue holds, as far as the next jobs depend on it. */
export type QueueLoad = {
  /** Jobs that wait for a worker. */
  readonly waiting: number
  /** Jobs that wait for their next try. */
  readonly delayed: number
  /** By the `tenant_id` of their data, '' for jobs without one; `null` unless it was asked for. */
  readonly byTenant: ReadonlyMap<string, TenantLoad> | null
}

/** The job that waits longest in a queue, for its first try or for its next one. */
export type OldestJob = {
  readonly id: string
  readonly state: 'waiting' | 'active' | 'delayed'
  /** Milliseconds since the epoch. */
  readonly addedAt: number
  /** Tries that failed. */
  readonly attempts: number
}

/** A job that was given up. */
export type FailedJob = {
  readonly id: string
  readonly data: unknown
  /** The message of the last error. */
  readonly reason: string
  /** First frame of its stack, when there is one. */
  readonly at: string | null
  /** Tries of the newest failure. */
  readonly attempts: number
  /** How often a job of this id was given up, among those still kept. */
  readonly times: number
  /** Milliseconds since the epoch. */
  readonly failedAt: number
}

/** Every call but `process` and `close` throws `Unavailable` `queue_unavailable` when the back end does not answer. */
export type Jobs = {
  /**
   * Adds jobs in bulk. A job whose id waits already is not added; one whose id is running is run once more after it, so
   * that nothing that came in the meantime is missed. All or some of the jobs may be in the queues after an error.
   *
   * @throws ValidationFailed for data that are not ids
   */
  readonly add: (jobs: readonly Job[]) => Promise<void>
  /**
   * Starts to run the jobs of a queue, as soon as the back end can be reached.
   *
   * @param options.concurrency handlers at once in this process
   */
  readonly process: (queue: QueueName, handler: JobHandler, options: { readonly concurrency: number }) => JobWorker
  readonly counts: () => Promise<Readonly<Record<QueueName, QueueCounts>>>
  /** What one queue holds now. Per tenant it costs a look at up to 500 jobs of each state. */
  readonly load: (queue: QueueName, options: { readonly byTenant: boolean }) => Promise<QueueLoad>
  /** The job that was added first among those that are not done; `null` in an empty queue. */
  readonly oldest: (queue: QueueName) => Promise<OldestJob | null>
  /** Jobs that were given up, newest first, one entry for each id. */
  readonly failed: (queue: QueueName, options: { readonly limit: number }) => Promise<readonly FailedJob[]>
  /** Puts a failed job back with all its tries. False when there is no failed job of that id. */
  readonly retry: (queue: QueueName, id: string) => Promise<boolean>
  /** Puts every failed job back; returns how many ids. */
  readonly retryAll: (queue: QueueName) => Promise<number>
  /**
   * Frees jobs that wait for a time which no wait of ours reaches, because a clock was set. To be called every so often: it
   * compares what it sees with what it saw. Returns how many it freed.
   */
  readonly unstick: () => Promise<number>
  /** Returns when the back end answers. */
  readonly ping: () => Promise<void>
  /** Closes the workers as they close, then the connections. Never throws. */
  readonly close: () => Promise<void>
}

/** What this layer writes: a pino logger fits. */
export type JobsLog = {
  readonly info: (fields: object, message: string) => void
  readonly warn: (fields: object, message: string) => void
}
