/**
 * BullMQ behind one shape, whatever it runs on. A queue or a worker is handed out only once its connection has been
 * ready: BullMQ remembers a failed first connection for ever, so what never got ready is thrown away and made anew.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type BackendFactory, type IQueueBackend, type Processor, type Queue, type Worker, withBackend } from 'bullmq'
import { backoffMs, type RetryPolicy } from './backoff.ts'
import type { QueueName } from './queues.ts'

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

/** The locks of running jobs, where they end by the clock of a process; by name, with the time until which they hold. */
export type Locks = {
  readonly read: () => Promise<ReadonlyMap<string, string>>
  /** Lets these end now: the next check for jobs of dead workers finds them. */
  readonly drop: (names: readonly string[]) => Promise<void>
}

/** What differs between the back ends. `C` is how BullMQ is told to connect. */
export type Wiring<C> = {
  readonly factory: BackendFactory<IQueueBackend, C>
  /** Resolves when the back end can be used; may be called again after it failed. */
  readonly prepare: () => Promise<void>
  readonly producer: () => C
  readonly consumer: (concurrency: number) => C
  /** `null` where the server's own clock ends them. */
  readonly locks: Locks | null
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
  readonly close: () => Promise<void>
}

/**
 * The lock of a running job, renewed at half its life. A killed worker's jobs are free when it lapses and the next check
 * has seen it: 1.5 to 5 s. Shorter would let a busy event loop lose its jobs; losing one only means that it runs twice.
 */
const LOCK_MS = 3_000
/** One small write a second for each queue, by whichever worker comes first. */
const STALLED_CHECK_MS = 1_000
/** Deaths of a worker in the middle of the same job before that job counts as their cause. */
const MAX_STALLED = 5
/** Jobs wake a worker at once; this only bounds the wait when a wake-up was lost. */
const POLL_SECONDS = 5
/** Between tries to reach a back end that is down. */
const RECONNECT_MS = 500
/** BullMQ writes a stream of events that nobody here reads: keep it short. */
const EVENTS_KEPT = 256

/** The name that BullMQ's retry options refer to. */
export const BACKOFF = 'full-jitter'

/** @param onError gets every error that BullMQ would otherwise emit, so that none is unhandled */
export function createBull<C>(wiring: Wiring<C>, onError: (error: unknown, fields: object) => void): Bull {
  const bull = withBackend(patient(wiring.factory))

  return {
    async openQueue(name) {
      await wiring.prepare()
      const queue = new bull.Queue(name, {
        connection: wiring.producer(),
        prefix: keyPrefix(name),
        streams: { events: { maxLen: EVENTS_KEPT } },
      })
      queue.on('error', (error) => onError(error, { queue: name }))
      return readyOrGone(queue)
    },

    async openWorker(name, run, { concurrency, retries }) {
      await wiring.prepare()
      const worker = new bull.Worker(name, run, {
        connection: wiring.consumer(concurrency),
        prefix: keyPrefix(name),
        autorun: false,
        concurrency,
        lockDuration: LOCK_MS,
        stalledInterval: STALLED_CHECK_MS,
        maxStalledCount: MAX_STALLED,
        drainDelay: POLL_SECONDS,
        runRetryDelay: RECONNECT_MS,
        settings: { backoffStrategy: (failures) => backoffMs(retries, failures, Math.random()) },
      })
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
    close: wiring.close,
  }
}

async function readyOrGone<T extends { waitUntilReady(): Promise<void>; close(): Promise<void> }>(made: T): Promise<T> {
  try {
    await made.waitUntilReady()
    return made
  } catch (error) {
    await made.close().catch(() => undefined) // It never was connected: what counts is why.
    throw error
  }
}

/** Keys of one queue share a Redis Cluster slot, as BullMQ's scripts need; PostgreSQL takes no notice. */
function keyPrefix(name: QueueName): string {
  return `bursar:{${name}}`
}

/**
 * Two habits of BullMQ 6 changed. A fetch that fails for another reason than a refused connection (PostgreSQL starting
 * up, say) is repeated at once, for ever: here it waits first. And after an error a worker on PostgreSQL would sleep for
 * up to an hour until the next wake-up: here it looks every few seconds.
 */
function patient<C>(factory: BackendFactory<IQueueBackend, C>): BackendFactory<IQueueBackend, C> {
  return (name, options, more) => {
    const backend = factory(name, options, more)
    const moveToActive = backend.moveToActive.bind(backend)
    backend.moveToActive = async (...args) => {
      try {
        return await moveToActive(...args)
      } catch (error) {
        await delay(RECONNECT_MS)
        throw error
      }
    }
    Object.defineProperty(backend, 'maximumBlockTimeout', { value: POLL_SECONDS })
    return backend
  }
}
