/**
 * Puts jobs into the queues tenant by tenant. A queue itself is first come, first served: so only a few jobs are in it at a
 * time, and what exceeds them waits here for its tenant's turn.
 *
 * Invariant: whatever one tenant has waiting, no more of its jobs are ahead of another tenant's than the limits of the queue
 * let in. What waits here is lost with the process: the sweeper finds its work.
 */
import { backoffMs, type RetryPolicy } from './backoff.ts'
import type { Jobs, JobsLog, QueueLoad } from './jobs.ts'
import { pause } from './pause.ts'
import { QUEUE_LIMITS, type QueueLimits } from './queue-limits.ts'
import { assertJob, type QueueName } from './queues.ts'
import { createRounds, type Rounds } from './rounds.ts'

export type TakeTurnsSettings = {
  readonly jobs: Pick<Jobs, 'add' | 'load'>
  readonly signal: AbortSignal
  readonly log: JobsLog
}

const RETRIES: RetryPolicy = { attempts: Infinity, baseMs: 100, capMs: 2_000 }

type Line = {
  readonly queue: QueueName
  readonly rounds: Rounds
  /** Jobs that fit into the queue for sure: its window when it was last looked at, less what was put in since. */
  room: number
  /** Ends when the jobs before were put in: one at a time knows how much room there is. */
  last: Promise<void>
  isTended: boolean
}

export type Turns = Pick<Jobs, 'add'> & {
  /** How many jobs of each queue wait here for a turn of their tenant. */
  readonly waiting: () => ReadonlyMap<QueueName, number>
}

/**
 * The `add` of a job layer, with turns. It resolves when the jobs are in their queues or wait here.
 *
 * @throws what `add` and `load` of the job layer throw; the jobs wait here all the same
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

/** Puts in what there is room for. */
async function putIn({ jobs }: TakeTurnsSettings, line: Line): Promise<void> {
  const { queue, rounds } = line
  if (rounds.size() === 0) return
  const limits = QUEUE_LIMITS[queue]
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

/** A look at each tenant's jobs costs more: it is for queues that bound them, and for those where much fails. */
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

/** Goes on putting in until nothing waits here. Once for a line at a time. */
function tend(settings: TakeTurnsSettings, line: Line): void {
  if (line.isTended || line.rounds.size() === 0) return
  line.isTended = true
  void keepPuttingIn(settings, line)
}

async function keepPuttingIn(settings: TakeTurnsSettings, line: Line): Promise<void> {
  const { signal, log } = settings
  let failures = 0
  while (line.rounds.size() > 0 && !signal.aborted) {
    await pause(failures === 0 ? QUEUE_LIMITS[line.queue].lookMs : backoffMs(RETRIES, failures, Math.random()), signal)
    failures = await putInOrder(settings, line).then(
      () => 0,
      (error: unknown) => {
        const fields = { err: error, queue: line.queue, waiting: line.rounds.size() }
        log.warn(fields, 'jobs that wait for their turn could not be queued, it is tried again')
        return failures + 1
      },
    )
  }
  line.isTended = false // In the same moment in which nothing waits here any more: who comes next begins anew.
}
