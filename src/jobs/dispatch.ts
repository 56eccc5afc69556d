/**
 * Turns recorded events into jobs: the bridge from the log to the queues.
 *
 * Invariant: a batch is committed only after its jobs were accepted (they are in the queues, or wait for their tenant's
 * turn: `take-turns.ts`). A queue that is down delays the batch. An event whose route fails does not: the sweeper finds
 * its work, and that of jobs still waiting for their turn when the process died.
 */
import { Unavailable } from '../core/errors.ts'
import { backoffMs, type RetryPolicy } from './backoff.ts'
import type { Jobs, JobsLog } from './jobs.ts'
import { pause } from './pause.ts'
import { assertJob, type Job } from './queues.ts'

/** A batch of a subscription on the log: events in log order, and the function that commits them. */
export type EventBatch<Evt> = { readonly events: readonly Evt[]; readonly commit: () => Promise<void> }

/** The logged fields of an event; its data are not logged. */
type Routed = { readonly type: string; readonly streamId?: string }

export type DispatchSettings<Evt extends Routed> = {
  readonly subscription: AsyncIterable<EventBatch<Evt>>
  /** The jobs for an event. Pure. */
  readonly routes: (event: Evt) => readonly Job[]
  readonly jobs: Pick<Jobs, 'add'>
  readonly signal: AbortSignal
  readonly log: JobsLog
  /** Called with each batch after it is committed, for metrics. */
  readonly onBatch?: (counts: { readonly events: number; readonly jobs: number }) => void
}

/** There is a single dispatcher: it need not spare a queue that comes back, only one that stays down. */
const RETRIES: RetryPolicy = { attempts: Infinity, baseMs: 100, capMs: 2_000 }

/**
 * Runs until the signal aborts or the subscription ends.
 *
 * @throws errors of the subscription or its commit: start again, from the last committed batch
 */
export async function dispatchEvents<Evt extends Routed>(settings: DispatchSettings<Evt>): Promise<void> {
  const { subscription, signal, onBatch } = settings
  for await (const batch of subscription) {
    const jobs = distinct(batch.events.flatMap((event) => route(settings, event)))
    if (!(await addUntilAccepted(settings, jobs))) return
    await batch.commit()
    onBatch?.({ events: batch.events.length, jobs: jobs.length })
    if (signal.aborted) return
  }
}

function route<Evt extends Routed>({ routes, log }: DispatchSettings<Evt>, event: Evt): readonly Job[] {
  try {
    const jobs = routes(event)
    for (const job of jobs) assertJob(job)
    return jobs
  } catch (error) {
    log.warn(
      { err: error, type: event.type, streamId: event.streamId },
      'an event has no route; the sweeper will queue its work',
    )
    return []
  }
}

/** One job for each queue and id; the later data win, as in the queue. */
function distinct(jobs: readonly Job[]): readonly Job[] {
  return [...new Map(jobs.map((job) => [`${job.queue} ${job.id}`, job])).values()]
}

/** @returns false when the signal aborted first: the batch must not be committed */
async function addUntilAccepted<Evt extends Routed>(
  settings: DispatchSettings<Evt>,
  wanted: readonly Job[],
): Promise<boolean> {
  const { jobs, signal, log } = settings
  if (wanted.length === 0) return true
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      await jobs.add(wanted)
      return true
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      log.warn({ err: error, failures, jobs: wanted.length }, 'the queue does not accept jobs; the dispatcher waits')
      await pause(backoffMs(RETRIES, failures, Math.random()), signal)
    }
  }
  return false
}
