/**
 * BullMQ behind one interface for both back ends. A queue or worker is returned only after its connection was ready:
 * BullMQ never recovers from a failed first connection, so such an instance is discarded and created again.
 */
import { setTimeout as delay } from 'node:timers/promises'
import {
  type BackendFactory,
  type IQueueBackend,
  type Job,
  type JobProgress,
  type Processor,
  Queue,
  Worker,
} from 'bullmq'
import type { QueueName } from '../core/registry.ts'
import { backoffMs, type RetryPolicy } from './backoff.ts'
import type { LookAtQueues } from './queue-watch.ts'

export type BullQueue = Pick<
  Queue,
  | 'addBulk'
  | 'close'
  | 'disconnect'
  | 'getDelayed'
  | 'getFailed'
  | 'getJob'
  | 'getJobCounts'
  | 'getJobs'
  | 'getRanges'
  | 'isPaused'
>
export type BullJob = Awaited<ReturnType<BullQueue['getFailed']>>[number]
export type BullWorker = Pick<Worker, 'close' | 'disconnect' | 'run'> & {
  readonly onFailed: (listener: (job: BullJob | undefined, error: Error) => void) => void
  readonly onStalled: (listener: (bullId: string) => void) => void
}

/** The locks of running jobs when they expire by a process's clock; by name, with their expiry time. */
export type Locks = {
  readonly read: () => Promise<ReadonlyMap<string, string>>
  /** Expires these locks now, so that the next check for jobs of dead workers finds them. */
  readonly drop: (names: readonly string[]) => Promise<void>
}

/** The differences between the back ends. `C` is BullMQ's connection type. */
export type Wiring<C> = {
  readonly factory: BackendFactory<IQueueBackend, C>
  /** Resolves when the back end can be used; may be called again after a failure. */
  readonly prepare: () => Promise<void>
  readonly producer: () => C
  readonly consumer: (concurrency: number) => C
  /** `null` when the server's own clock expires them. */
  readonly locks: Locks | null
  /** `null` when a worker's own wait costs the server nothing. */
  readonly look: LookAtQueues | null
  /** The longest wait of a worker whose wake-up was lost. */
  readonly pollSeconds: number
  readonly close: () => Promise<void>
}

export type Bull = {
  readonly openQueue: (name: QueueName) => Promise<BullQueue>
  readonly openWorker: (
    name: QueueName,
    run: Processor,
    options: { readonly concurrency: number; readonly retries: RetryPolicy },
  ) => Promise<BullWorker>
  readonly locks: Locks | null
  readonly look: LookAtQueues | null
  readonly close: () => Promise<void>
}

/**
 * The lock of a running job, renewed at half its duration. The jobs of a killed worker are free after it expires and
 * the next check has run: 1.5 to 5 s. A shorter lock would let a busy event loop lose its jobs; a lost job only runs
 * twice.
 */
const LOCK_MS = 3_000
/** One small write per second and queue with running jobs, by whichever worker comes first. */
const STALLED_CHECK_MS = 1_000
/** Worker deaths during the same job after which that job counts as their cause. */
const MAX_STALLED = 5
/** Jobs wake a worker immediately; this bounds the wait after a lost wake-up. */
export const POLL_SECONDS = 5
/** Pause between tries to reach a back end that is down. */
const RECONNECT_MS = 500
/** BullMQ writes an event stream that Bursar does not read: keep it short. */
const EVENTS_KEPT = 256

/** The name that BullMQ's retry options refer to. */
export const BACKOFF = 'full-jitter'

/** @param onError gets every error that BullMQ would otherwise emit, so that none is unhandled */
export function createBull<C>(wiring: Wiring<C>, onError: (error: unknown, fields: object) => void): Bull {
  return {
    async openQueue(name) {
      await wiring.prepare()
      const options = {
        connection: wiring.producer(),
        prefix: keyPrefix(name),
        streams: { events: { maxLen: EVENTS_KEPT } },
      }
      const queue = new Queue(name, options, wiring.factory)
      queue.on('error', (error) => onError(error, { queue: name }))
      return readyOrGone(queue)
    },

    async openWorker(name, run, { concurrency, retries }) {
      await wiring.prepare()
      const workerOptions = {
        connection: wiring.consumer(concurrency),
        prefix: keyPrefix(name),
        autorun: false,
        concurrency,
        lockDuration: LOCK_MS,
        stalledInterval: STALLED_CHECK_MS,
        maxStalledCount: MAX_STALLED,
        drainDelay: wiring.pollSeconds,
        runRetryDelay: RECONNECT_MS,
        settings: { backoffStrategy: (failures: number) => backoffMs(retries, failures, Math.random()) },
      }
      const worker = new PatientWorker(name, run, workerOptions, wiring.factory)
      worker.on('error', (error) => onError(error, { queue: name }))
      await readyOrGone(worker)
      return {
        run: () => worker.run(),
        close: (force) => worker.close(force),
        disconnect: () => worker.disconnect(),
        onFailed: (listener) => worker.on('failed', listener),
        onStalled: (listener) => worker.on('stalled', listener),
      }
    },

    locks: wiring.locks,
    look: wiring.look,
    close: wiring.close,
  }
}

async function readyOrGone<T extends { waitUntilReady(): Promise<void>; close(): Promise<void> }>(made: T): Promise<T> {
  try {
    await made.waitUntilReady()
    return made
  } catch (error) {
    await made.close().catch(() => undefined) // It was never connected: the original error matters.
    throw error
  }
}

/** Keys of one queue share a Redis Cluster slot, as BullMQ's scripts require; PostgreSQL ignores this. */
function keyPrefix(name: QueueName): string {
  return `bursar:{${name}}`
}

/**
 * A worker of BullMQ 6 that waits as Bursar needs. A fetch that fails for a reason other than a refused connection (for
 * example while PostgreSQL starts) is repeated immediately and endlessly by BullMQ: here it waits first. After an error,
 * a worker on PostgreSQL would sleep up to an hour until the next wake-up: here it checks every few seconds.
 */
class PatientWorker<C> extends Worker<unknown, unknown, string, IQueueBackend, JobProgress, C> {
  protected override async moveToActive(token: string, name?: string): Promise<Job> {
    try {
      return await super.moveToActive(token, name)
    } catch (error) {
      await delay(RECONNECT_MS)
      throw error
    }
  }

  /** @param until ms since 1970, of the next delayed job; infinite after an error, 0 when no job is delayed */
  protected override getBlockTimeout(until: number): number {
    const seconds = super.getBlockTimeout(until)
    return until === 0 ? seconds : Math.min(seconds, POLL_SECONDS)
  }
}
