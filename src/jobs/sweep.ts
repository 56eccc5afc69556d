/**
 * Finds unfinished work in the read models and queues it again, so that an emptied queue, a lost job or a job that was
 * given up loses nothing. Safe to run beside the dispatcher: a job that waits already is not added twice.
 */
import type { Jobs, JobsLog } from './jobs.ts'
import { pause } from './pause.ts'
import type { Job } from './queues.ts'

/** One place where unfinished work shows. */
export type SweepSource = {
  readonly name: string
  /** Jobs for work that should have moved by now, the longest waiting first, at most `limit`. */
  readonly find: (limit: number) => Promise<readonly Job[]>
}

/** What one round did: by source, the number of jobs, or null when the source or the queue failed. */
export type SweepRound = Readonly<Record<string, number | null>>

export type SweepSettings = {
  readonly sources: readonly SweepSource[]
  readonly jobs: Pick<Jobs, 'add'>
  /** Between the end of a round and the start of the next, in ms. */
  readonly intervalMs: number
  /** Jobs for each source and round. */
  readonly limit?: number
  readonly signal: AbortSignal
  readonly log: JobsLog
  /** Told of each round, for metrics. */
  readonly onRound?: (round: SweepRound) => void
}

/** A second or two of work for the workers: what is left over comes with the next round. */
const DEFAULT_LIMIT = 1_000

/** Runs rounds until the signal aborts, the first one at once. A source that fails does not stop the others. */
export async function sweep(settings: SweepSettings): Promise<void> {
  const { sources, intervalMs, signal, onRound } = settings
  while (!signal.aborted) {
    const round: Record<string, number | null> = {}
    for (const source of sources) {
      if (signal.aborted) return
      round[source.name] = await sweepOne(settings, source)
    }
    onRound?.(round)
    await pause(intervalMs, signal)
  }
}

async function sweepOne(
  { jobs, limit = DEFAULT_LIMIT, log }: SweepSettings,
  source: SweepSource,
): Promise<number | null> {
  try {
    const found = (await source.find(limit)).slice(0, limit)
    if (found.length > 0) await jobs.add(found)
    return found.length
  } catch (error) {
    log.warn({ err: error, source: source.name }, 'a sweep failed, it is tried again in the next round')
    return null
  }
}
