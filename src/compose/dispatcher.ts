/**
 * The dispatcher process: turns events into jobs, finds work without a job, and repeats the tasks of capabilities. One
 * leads at a time.
 */

import { findOutside } from '../activity/find-outside.ts'
import type { RepeatedTask } from '../capability.ts'
import type { QueueName } from '../core/registry.ts'
import { mpcQueue, QUEUE_LIMITS } from '../declarations.ts'
import { lead } from '../event-log/lead.ts'
import { createQuietPause } from '../event-log/quiet-pause.ts'
import { repeat } from '../event-log/repeat.ts'
import { subscribe } from '../event-log/subscription.ts'
import { dispatchEvents } from '../jobs/dispatch.ts'
import { type FindOpen, FORGET_INTERVAL_MS, forgetDone } from '../jobs/forget-done.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { soundJobs } from '../jobs/sound-jobs.ts'
import { sweep } from '../jobs/sweep.ts'
import { takeTurns } from '../jobs/take-turns.ts'
import {
  createFindUnfinishedLanes,
  findOpenLanes,
  readLanesOf,
  transactionJobs,
  withLanes,
} from '../transactions/jobs.ts'
import { createPartitionJobs, type PartitionJobs } from '../transactions/partition-jobs.ts'
import { PAST, TASKS, WORK } from './capabilities.ts'
import type { Kernel } from './kernel.ts'
import { createPlaceJobs } from './place-jobs.ts'
import type { Work } from './run-process.ts'

/** The subscription's name identifies its checkpoint: it must never change. */
export const DISPATCHER = 'dispatcher'

/** The sweeper's interval while the log is quiet, in its usual intervals. */
const QUIET_SWEEPS = 4

/** Event types whose data the dispatcher reads. */
const DATA_OF = WORK.flatMap(({ dataOf = [] }) => dataOf)

export async function startDispatcher(kernel: Kernel, signal: AbortSignal): Promise<Work> {
  const { config, leases, logger } = kernel
  const onError = (error: unknown) => logger.warn({ err: error }, 'a leader task failed; it will restart')
  const settings = { leases, leaseMs: config.leaseMs, signal, onError }
  const turns = composeTurns(kernel, signal)
  const leaders = [
    lead({ ...settings, name: DISPATCHER }, (_lease, stop) => dispatch(kernel, turns, stop)),
    lead({ ...settings, name: 'sweeper' }, async (_lease, stop) => {
      await Promise.all([
        sweepUnfinished(kernel, turns, stop),
        freeStuckJobs(kernel, stop),
        forgetDoneJobs(kernel, stop),
      ])
    }),
    ...repeatTasks(kernel, settings),
  ]
  return { drain: async () => void (await Promise.all(leaders)) }
}

/** Every job goes to the queue of its kind of key. Lanes go by their partitions, other jobs wait for their tenant's turn. */
function composeTurns({ pool, jobs, wakeUps, logger, metrics }: Kernel, signal: AbortSignal): PartitionJobs {
  const place = createPlaceJobs(pool)
  const turns = takeTurns({ jobs, limits: QUEUE_LIMITS, signal, log: logger })
  const text = "Jobs that the dispatcher holds until their tenant's turn, by queue."
  metrics.addGauge('bursar_jobs_held', text, ['queue'], async () =>
    [...turns.waiting()].map(([queue, value]) => ({ labels: { queue }, value })),
  )
  const placed = createPartitionJobs({
    add: (found) => turns.add(soundJobs(found, logger)),
    tell: (work) => wakeUps.announce([], work),
    onError: (error) => logger.warn({ err: error }, 'cannot queue partitions of lanes; will retry'),
    signal,
  })
  return { ...placed, add: async (found) => placed.add(await place(found)) }
}

function dispatch({ pool, wakeUps, logger }: Kernel, jobs: PartitionJobs, signal: AbortSignal): Promise<void> {
  const { isUrgent } = jobs
  const events = subscribe({ pool, wakeUps, name: DISPATCHER, signal, dataOf: DATA_OF, isUrgent })
  return dispatchEvents({
    subscription: withLanes(events, (ids, decidedIds) => readLanesOf(pool, ids, decidedIds)),
    routes: (event) => [...transactionJobs(event), ...WORK.flatMap((work) => work.jobsOf(event))],
    jobs,
    signal,
    log: logger,
  })
}

async function sweepUnfinished(
  { config, pool, wakeUps, clock, logger }: Kernel,
  jobs: Pick<Jobs, 'add'>,
  signal: AbortSignal,
): Promise<void> {
  const { sweepIntervalMs, rebroadcastAfterMs } = config
  const rest = createQuietPause(wakeUps, {
    intervalMs: sweepIntervalMs,
    quietIntervalMs: QUIET_SWEEPS * sweepIntervalMs,
    // By then two rounds have looked at what was appended last, and at bytes to be sent again.
    quietAfterMs: 2 * sweepIntervalMs + rebroadcastAfterMs,
  })
  // Work that changed within the last interval still has its own job.
  const quietBefore = () => new Date(clock() - sweepIntervalMs)
  await sweep({
    sources: [
      {
        name: 'lanes',
        find: createFindUnfinishedLanes(pool, { quietMs: sweepIntervalMs, sentMs: rebroadcastAfterMs }),
      },
      ...WORK.map(({ name, findQuiet }) => ({
        name,
        find: (limit: number) => findQuiet(pool, quietBefore(), limit),
      })),
    ],
    jobs,
    pauseBetween: rest.pause,
    signal,
    log: logger,
  }).finally(rest.stop)
}

/** A job that waits for a wrong time blocks the sweeper: a job of its id exists. */
function freeStuckJobs({ config, jobs, logger }: Kernel, signal: AbortSignal): Promise<void> {
  const onError = (error: unknown) => logger.warn({ err: error }, 'cannot check for stuck jobs; will retry')
  const free = async () => {
    const freed = await jobs.unstick()
    if (freed > 0)
      logger.warn({ jobs: freed }, 'released jobs that were scheduled too far in the future; check the system clocks')
  }
  return repeat(free, { intervalMs: config.sweepIntervalMs, signal, onError })
}

/** Finds work that is not done, for every queue of the dispatcher. @param sentMs bytes that were submitted longer ago are submitted again */
export function openWork(sentMs: number): ReadonlyMap<QueueName, FindOpen> {
  const lanes = (['lane', 'submit'] as const).map((queue) => {
    const findOpen: FindOpen = (pool, ids) => findOpenLanes(pool, queue, ids, sentMs)
    return { queue, findOpen }
  })
  return new Map(
    [...lanes, ...WORK].flatMap(({ queue, findOpen }) => [
      [queue, findOpen],
      [mpcQueue(queue), findOpen],
    ]),
  )
}

/** A failed job whose work is done by now is no finding: another job, or an operator, has removed the cause. */
function forgetDoneJobs(kernel: Kernel, signal: AbortSignal): Promise<void> {
  const onError = (error: unknown) =>
    kernel.logger.warn({ err: error }, 'cannot check the causes of failed jobs; will retry')
  const open = openWork(kernel.config.rebroadcastAfterMs)
  return repeat(() => forgetDone(kernel, open), { intervalMs: FORGET_INTERVAL_MS, signal, onError })
}

/** Each task has a leader of its own: a task that takes long delays no other. */
function repeatTasks(kernel: Kernel, settings: Omit<Parameters<typeof lead>[0], 'name'>): Promise<void>[] {
  const needs: Parameters<RepeatedTask['build']>[0] = {
    ...kernel,
    past: PAST,
    findOutside: (...page) => findOutside(kernel, ...page),
  }
  return TASKS.flatMap(({ name, intervalMs, failure, build }) => {
    const task = build(needs)
    if (task === null) return []
    const onError = (error: unknown) => kernel.logger.warn({ err: error }, failure)
    return lead({ ...settings, name }, (_lease, signal) =>
      repeat(() => task(signal), { intervalMs: intervalMs(kernel.config), signal, onError }),
    )
  })
}
