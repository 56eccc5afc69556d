/**
 * Adds jobs to the queues fairly among tenants. A queue itself is first come, first served, so only a few jobs are in
 * it at a time, and the others wait here for their tenant's turn.
 *
 * Invariant: however much one tenant has waiting, at most the number of its jobs that the queue limits admit is ahead
 * of another tenant's. Jobs that wait here are lost with the process: the sweeper finds their work.
 */

import type { QueueLimits } from '../core/declaration.ts'
import type { QueueName } from '../core/registry.ts'
import { backoffMs, type RetryPolicy } from './backoff.ts'
import type { Jobs, JobsLog, QueueLoad } from './jobs.ts'
import { pause } from './pause.ts'
import { assertJob } from './queues.ts'
import { createRounds, type Rounds } from './rounds.ts'

export type TakeTurnsSettings = {
  readonly jobs: Pick<Jobs, 'add' | 'load'>
  readonly limits: Readonly<Record<QueueName, QueueLimits>>
  readonly signal: AbortSignal
  readonly log: JobsLog
}

const RETRIES: RetryPolicy = { attempts: Infinity, baseMs: 100, capMs: 2_000 }

type Line = {
  readonly queue: QueueName
  readonly rounds: Rounds
  /** Jobs that certainly fit into the queue: its window at the last look, minus jobs added since. */
  room: number
  /** Resolves when the previous jobs were added: only one caller at a time knows the remaining room. */
  last: Promise<void>
  isTended: boolean
}

export type Turns = Pick<Jobs, 'add'> & {
  /** The number of jobs of each queue that wait here for their tenant's turn. */
  readonly waiting: () => ReadonlyMap<QueueName, number>
}

/**
 * The `add` of a job layer, with turns. Resolves when the jobs are in their queues or wait here.
 *
 * @throws errors of `add` and `load` of the job layer; the jobs then still wait here
 */
export function takeTurns(settings: TakeTurnsSettings): Turns {
  const lines = new Map<QueueName, Line>()
  const lineOf = (queue: QueueName) => {
    const line = lines.get(queue) ?? {
      queue,
      rounds: createRounds(),
      room: 0,
      last: Promise.resolve(),
      isTended: false,
    }
    lines.set(queue, line)
    return line
  }
  return {
    async add(jobs) {
      for (const job of jobs) assertJob(job)
      for (const job of jobs) lineOf(job.queue).rounds.put(job)
      const touched = [...new Set(jobs.map(({ queue }) => queue))].map(lineOf)
      try {
        await Promise.all(touched.map((line) => putInOrder(settings, line)))
      } finally {
        for (const line of touched) tend(settings, line)
      }
    },
    waiting: () => new Map([...lines].map(([queue, { rounds }]) => [queue, rounds.size()])),
  }
}

function putInOrder(settings: TakeTurnsSettings, line: Line): Promise<void> {
  line.last = line.last.catch(() => undefined).then(() => putIn(settings, line))
  return line.last
}

/** Adds as many jobs as there is room for. */
async function putIn({ jobs, limits: limitsOf }: TakeTurnsSettings, line: Line): Promise<void> {
  const { queue, rounds } = line
  if (rounds.size() === 0) return
  const limits = limitsOf[queue]
  let mayHave: (tenantId: string, taken: number) => boolean = () => true
  if (limits.atOnce !== null || line.room < rounds.size()) {
    const load = await look(jobs, queue, limits)
    line.room = Math.max(0, limits.window - load.waiting)
    mayHave = (tenantId, taken) => isWithin(limits, load, tenantId, taken)
  }
  const next = rounds.take(line.room, mayHave)
  line.room -= next.length
  if (next.length === 0) return
  try {
    await jobs.add(next)
  } catch (error) {
    for (const job of next) rounds.put(job)
    line.room = 0
    throw error
  }
}

/** Counting by tenant costs more: only for queues with limits per tenant, and for those with many failures. */
async function look(jobs: Pick<Jobs, 'load'>, queue: QueueName, { atOnce, failing }: QueueLimits): Promise<QueueLoad> {
  if (atOnce !== null) return jobs.load(queue, { byTenant: true })
  const load = await jobs.load(queue, { byTenant: false })
  return load.delayed < failing ? load : jobs.load(queue, { byTenant: true })
}

function isWithin(
  { atOnce, failing: maxFailing }: QueueLimits,
  { byTenant }: QueueLoad,
  tenantId: string,
  taken: number,
): boolean {
  const { running, failing } = byTenant?.get(tenantId) ?? { running: 0, failing: 0 }
  return failing < maxFailing && (atOnce === null || running + taken < atOnce)
}

/** Keeps adding until no job waits here. Runs at most once per line. */
function tend(settings: TakeTurnsSettings, line: Line): void {
  if (line.isTended || line.rounds.size() === 0) return
  line.isTended = true
  void keepPuttingIn(settings, line)
}

async function keepPuttingIn(settings: TakeTurnsSettings, line: Line): Promise<void> {
  const { limits, signal, log } = settings
  let failures = 0
  while (line.rounds.size() > 0 && !signal.aborted) {
    await pause(failures === 0 ? limits[line.queue].lookMs : backoffMs(RETRIES, failures, Math.random()), signal)
    failures = await putInOrder(settings, line).then(
      () => 0,
      (error: unknown) => {
        const fields = { err: error, queue: line.queue, waiting: line.rounds.size() }
        log.warn(fields, 'cannot queue jobs that wait for their turn; will retry')
        return failures + 1
      },
    )
  }
  line.isTended = false // In the same turn in which the line became empty: the next job starts it again.
}
