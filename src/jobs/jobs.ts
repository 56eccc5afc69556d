/**
 * The interface of the job layer; nothing here depends on the back end.
 *
 * Invariant: a job that was added runs at least once while its queue keeps its data. It may run twice, late or out of
 * order, or never if the queue is emptied; the sweeper finds work without a job.
 */

import type { QueueName } from '../core/registry.ts'
import type { Job, JobData } from './queues.ts'

/** What a handler receives besides the ids. */
export type JobContext = {
  readonly id: string
  /** 1 for the first try. */
  readonly attempt: number
  /** Aborts when the worker is closing: a long handler ends at its next safe point. */
  readonly signal: AbortSignal
}

/**
 * Does the work that the state of these ids requires.
 *
 * @throws a non-retryable `BursarError` to fail the job immediately; any other error is retried a bounded number of
 *   times
 */
export type JobHandler = (data: JobData, context: JobContext) => Promise<void>

export type JobWorker = {
  /** Stops taking jobs and waits for the running handlers, at most the grace time. Never throws. */
  readonly close: () => Promise<void>
}

/** Jobs of a queue by state. `delayed` jobs wait for their next try. */
export type QueueCounts = {
  readonly waiting: number
  readonly active: number
  readonly delayed: number
  readonly failed: number
}

export type CountsByQueue = Readonly<Record<QueueName, QueueCounts>>

export function queueNames(counts: CountsByQueue): readonly QueueName[] {
  return Object.keys(counts) as QueueName[]
}

/** The jobs of a tenant in a queue. */
export type TenantLoad = {
  /** Jobs that wait for a worker or are running. */
  readonly running: number
  /** Jobs that failed and wait for their next try. */
  readonly failing: number
}

/** The contents of a queue, as far as the next jobs depend on them. */
export type QueueLoad = {
  /** Jobs that wait for a worker. */
  readonly waiting: number
  /** Jobs that wait for their next try. */
  readonly delayed: number
  /** By the `tenant_id` of their data, '' for jobs without one; `null` unless requested. */
  readonly byTenant: ReadonlyMap<string, TenantLoad> | null
}

/** The job that has waited longest in a queue, for its first or next try. */
export type OldestJob = {
  readonly id: string
  readonly state: 'waiting' | 'active' | 'delayed'
  /** Milliseconds since the epoch. */
  readonly addedAt: number
  /** Failed tries. */
  readonly attempts: number
}

/** A job that failed permanently. */
export type FailedJob = {
  readonly id: string
  readonly data: unknown
  /** The message of the last error. */
  readonly reason: string
  /** First frame of its stack, if there is one. */
  readonly at: string | null
  /** Tries of the latest failure. */
  readonly attempts: number
  /** How often a job of this id failed permanently, among those still kept. */
  readonly times: number
  /** Milliseconds since the epoch. */
  readonly failedAt: number
}

/**
 * Every method except `process` and `close` throws `Unavailable` `queue_unavailable` when the back end does not answer.
 */
export type Jobs = {
  /**
   * Adds jobs in bulk. A job whose id already waits is not added; one whose id is running runs once more afterwards, so
   * that work that arrived meanwhile is not missed. After an error all or some of the jobs may be in the queues.
   *
   * @throws ValidationFailed for data that are not ids
   */
  readonly add: (jobs: readonly Job[]) => Promise<void>
  /**
   * Starts running the jobs of a queue as soon as the back end is reachable.
   *
   * @param options.concurrency concurrent handlers in this process
   */
  readonly process: (queue: QueueName, handler: JobHandler, options: { readonly concurrency: number }) => JobWorker
  readonly counts: () => Promise<CountsByQueue>
  /** The current contents of a queue. Counting by tenant reads up to 500 jobs of each state. */
  readonly load: (queue: QueueName, options: { readonly byTenant: boolean }) => Promise<QueueLoad>
  /** The unfinished job that was added first; `null` for an empty queue. */
  readonly oldest: (queue: QueueName) => Promise<OldestJob | null>
  /** Permanently failed jobs, newest first, one entry for each id. */
  readonly failed: (queue: QueueName, options: { readonly limit: number }) => Promise<readonly FailedJob[]>
  /** Retries a failed job with all its tries. False when there is no failed job of that id. */
  readonly retry: (queue: QueueName, id: string) => Promise<boolean>
  /** Removes failed jobs of these ids; returns the number of ids. */
  readonly forget: (queue: QueueName, ids: ReadonlySet<string>) => Promise<number>
  /** Retries every failed job; returns the number of ids. */
  readonly retryAll: (queue: QueueName) => Promise<number>
  /**
   * Frees jobs whose wait ends later than any delay of Bursar, because a clock was set. Call it periodically: it
   * compares with its previous call. Returns the number of freed jobs.
   */
  readonly unstick: () => Promise<number>
  /** Resolves when the back end answers. */
  readonly ping: () => Promise<void>
  /** Closes the workers, then the connections. Never throws. */
  readonly close: () => Promise<void>
}

/** The logger of this layer; compatible with pino. */
export type JobsLog = {
  readonly info: (fields: object, message: string) => void
  readonly warn: (fields: object, message: string) => void
}
