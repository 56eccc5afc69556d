/**
 * Runs the jobs of one queue until it is closed: connects automatically when the back end was down at the start or goes
 * away, and lets running handlers finish on close.
 */
import { setMaxListeners } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { type Job as StoredJob, UnrecoverableError } from 'bullmq'
import { BursarError } from '../core/errors.ts'
import type { QueueName } from '../core/registry.ts'
import { backoffMs, type RetryPolicy } from './backoff.ts'
import type { Bull, BullWorker } from './bull.ts'
import type { JobHandler, JobsLog, JobWorker } from './jobs.ts'
import { pause } from './pause.ts'
import { parseJobData } from './queues.ts'

/** Between tries to open a worker while the back end is down, so that it is found within a second. */
const REOPEN: RetryPolicy = { attempts: Infinity, baseMs: 250, capMs: 1_000 }
/** After the handlers only a few short statements remain; in an outage they would wait endlessly. */
const DISCONNECT_MS = 1_000

export function startWorker(settings: {
  readonly bull: Bull
  readonly queue: QueueName
  readonly handler: JobHandler
  readonly concurrency: number
  readonly retries: RetryPolicy
  /** How long `close` waits for running handlers, in ms. */
  readonly graceMs: number
  readonly log: JobsLog
  readonly onError: (error: unknown, fields: object) => void
}): JobWorker {
  const { queue, handler, graceMs, log, onError } = settings
  const stopping = new AbortController()
  setMaxListeners(0, stopping.signal) // Each running handler may listen, and Node warns of more than ten.
  const running = new Set<Promise<void>>()
  let worker: BullWorker | null = null

  /** Runs the handler and maps its outcome to BullMQ's errors. */
  async function run(job: StoredJob): Promise<void> {
    const work = handle(handler, job, stopping.signal)
    running.add(work)
    try {
      await work
    } catch (error) {
      throw toBullError(error)
    } finally {
      running.delete(work)
    }
  }

  async function keepRunning(): Promise<void> {
    for (let failures = 1; !stopping.signal.aborted; failures += 1) {
      try {
        worker = await open(settings, run)
        if (stopping.signal.aborted) await worker.close()
        else await worker.run() // Returns only when it is closed.
      } catch (error) {
        onError(error, { queue })
      }
      await pause(backoffMs(REOPEN, failures, Math.random()), stopping.signal)
    }
  }

  async function close(): Promise<void> {
    stopping.abort()
    const closed = (worker?.close() ?? Promise.resolve()).catch((error: unknown) => onError(error, { queue }))
    if (await settles(Promise.allSettled(running), graceMs)) {
      if (!(await settles(Promise.all([closed, loop]), DISCONNECT_MS)))
        await settles(worker?.disconnect(), DISCONNECT_MS)
    } else {
      log.warn(
        { queue, running: running.size },
        'handlers did not stop within the grace period; their jobs will run again',
      )
    }
  }

  const loop = keepRunning()
  let closing: Promise<void> | null = null
  return {
    close() {
      closing ??= close()
      return closing
    },
  }
}

async function handle(handler: JobHandler, job: StoredJob, signal: AbortSignal): Promise<void> {
  await handler(parseJobData(job.data), { id: job.deduplicationId ?? '', attempt: job.attemptsMade + 1, signal })
}

async function open(
  {
    bull,
    queue,
    concurrency,
    retries,
    log,
  }: Pick<Parameters<typeof startWorker>[0], 'bull' | 'queue' | 'concurrency' | 'retries' | 'log'>,
  run: (job: StoredJob) => Promise<void>,
) {
  const worker = await bull.openWorker(queue, run, { concurrency, retries })
  worker.onFailed((job, error) => {
    const final = job === undefined || job.finishedOn !== undefined
    log.warn({ queue, id: job?.deduplicationId, attempt: job?.attemptsMade, final, err: error }, 'job failed')
  })
  worker.onStalled((bullId) =>
    log.info({ queue, bullId }, 'a worker died or hung during a job; the job will run again'),
  )
  return worker
}

/** Only an error that can never succeed skips the retries: a domain error that is not retryable. */
function toBullError(thrown: unknown): Error {
  const error = thrown instanceof Error ? thrown : new Error(`thrown: ${String(thrown)}`)
  if (!(error instanceof BursarError) || error.retryable) return error
  const final = new UnrecoverableError(`${error.items[0]?.code ?? error.code}: ${error.message}`)
  if (error.stack !== undefined) final.stack = error.stack
  return final
}

/** Whether a promise settles within a time. */
async function settles(promise: Promise<unknown> | undefined, timeoutMs: number): Promise<boolean> {
  const patience = new AbortController()
  const late = delay(timeoutMs, false, { signal: patience.signal }).catch(() => false)
  const settled = Promise.resolve(promise).then(
    () => true,
    () => true,
  )
  try {
    return await Promise.race([settled, late])
  } finally {
    patience.abort()
  }
}
