/** Tells senders that a line of a webhook has something to be sent, at most a few times a second for each line. */
import type { Jobs, JobsLog } from '../jobs/jobs.ts'
import type { Job } from '../jobs/queues.ts'
import { soundJobs } from '../jobs/sound-jobs.ts'
import type { RunningDrains } from './running-drains.ts'

/** A sender that was told looks again and again until nothing is due: more jobs would only cost. */
const INTERVAL_MS = 200

/** A hint: what is lost is found by its due time. Never throws. */
export type TellSenders = (lines: Iterable<string>) => void

export function createTellSenders(
  jobs: Pick<Jobs, 'add'>,
  {
    running,
    signal,
    log,
  }: {
    /** What runs in this process needs no job. */
    readonly running: Pick<RunningDrains, 'wake'>
    /** Ends the wait for hints that are held back. */
    readonly signal: AbortSignal
    readonly log: Pick<JobsLog, 'warn'>
  },
): TellSenders {
  /** Those told within the last interval, and whether there is more to tell. */
  const told = new Map<string, boolean>()

  function tell(ids: readonly string[]): void {
    if (ids.length === 0 || signal.aborted) return
    for (const id of ids) told.set(id, false)
    jobs
      .add(soundJobs(ids.map(jobOf), log))
      .catch((error: unknown) => log.warn({ err: error }, 'cannot queue a job for webhook senders'))
    setTimeout(() => {
      const again = ids.filter((id) => told.get(id) === true)
      for (const id of ids) told.delete(id)
      tell(again)
    }, INTERVAL_MS).unref()
  }

  return (lines) => {
    const ids = [...new Set(lines)].filter((id) => !running.wake(id))
    for (const id of ids.filter((one) => told.has(one))) told.set(id, true)
    tell(ids.filter((id) => !told.has(id)))
  }
}

/** In the field that senders of older versions read: they find no webhook with the name of a line of replays. */
function jobOf(line: string): Job {
  return { queue: 'webhook', id: line, data: { webhook_id: line } }
}
