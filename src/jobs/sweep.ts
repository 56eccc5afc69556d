/**
 * Finds unfinished work in the read models and queues it again, so that an emptied queue, a lost job or a failed job
 * loses nothing. Safe to run beside the dispatcher: a job that already waits is not added twice.
 */
import type { Jobs, JobsLog } from './jobs.ts'
import type { Job } from './queues.ts'

/** A query for one kind of unfinished work. */
export type SweepSource = {
  readonly name: string
  /** Jobs for work that should have progressed by now, the longest waiting first, at most `limit`. */
  readonly find: (limit: number) => Promise<readonly Job[]>
}

/** The result of a round: by source, the number of jobs, or null when the source or the queue failed. */
export type SweepRound = Readonly<Record<string, number | null>>

/** A second or two of work for the workers; the rest follows in the next round. */
const DEFAULT_LIMIT = 1_000

/** Runs rounds until the signal aborts, the first one immediately. A failing source does not stop the others. */
export async function sweep(settings: {
  readonly sources: readonly SweepSource[]
  readonly jobs: Pick<Jobs, 'add'>
  /** From the end of a round to the start of the next. @param wasBusy whether the round found work */
  readonly pauseBetween: (signal: AbortSignal, wasBusy: boolean) => Promise<void>
  /** Maximum jobs per source and round. */
  readonly limit?: number
  readonly signal: AbortSignal
  readonly log: JobsLog
  /** Called with each round, for metrics. */
  readonly onRound?: (round: SweepRound) => void
}): Promise<void> {
  const { sources, pauseBetween, signal, onRound } = settings
  while (!signal.aborted) {
    const round: Record<string, number | null> = {}
    for (const source of sources) {
      if (signal.aborted) return
      round[source.name] = await sweepOne(settings, source)
    }
    onRound?.(round)
    await pauseBetween(
      signal,
      Object.values(round).some((found) => found !== 0),
    )
  }
}

async function sweepOne(
  { jobs, limit = DEFAULT_LIMIT, log }: Pick<Parameters<typeof sweep>[0], 'jobs' | 'limit' | 'log'>,
  source: SweepSource,
): Promise<number | null> {
  try {
    const found = (await source.find(limit)).slice(0, limit)
    if (found.length > 0) await jobs.add(found)
    return found.length
  } catch (error) {
    log.warn({ err: error, source: source.name }, 'a sweep failed; it will be retried in the next round')
    return null
  }
}
