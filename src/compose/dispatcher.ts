/**
 * The dispatcher process: turns events into jobs, finds work without a job, schedules refreshes of old shares, deletes
 * expired exports, and keeps metadata pinned on IPFS. One leads at a time.
 */
import { repeat } from '../balances/repeat.ts'
import { lead } from '../event-log/lead.ts'
import { subscribe } from '../event-log/subscription.ts'
import { dispatchEvents } from '../jobs/dispatch.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { sweep } from '../jobs/sweep.ts'
import { takeTurns } from '../jobs/take-turns.ts'
import { createScheduleRefreshes } from '../mpc-wallets/schedule-refreshes.ts'
import { deleteExpiredFiles } from '../recovery/jobs.ts'
import { createFindUnfinishedLanes, createLanesOf, transactionJobs, withLanes } from '../transactions/jobs.ts'
import { WORK } from './capabilities.ts'
import type { Kernel } from './kernel.ts'
import { composeRepin } from './nft-metadata.ts'
import { createPlaceJobs } from './place-jobs.ts'
import type { Work } from './run-process.ts'

/** The subscription's name identifies its checkpoint: it must never change. */
export const DISPATCHER = 'dispatcher'

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
      await Promise.all([sweepUnfinished(kernel, turns, stop), freeStuckJobs(kernel, stop)])
    }),
    ...keepSharesFresh(kernel, (task) => lead({ ...settings, name: 'mpc-refreshes' }, (_lease, stop) => task(stop))),
    lead({ ...settings, name: 'exports' }, (_lease, stop) => deleteExpired(kernel, stop)),
    ...keepPins(kernel, (task) => lead({ ...settings, name: 'pins' }, (_lease, stop) => task(stop))),
  ]
  return { drain: async () => void (await Promise.all(leaders)) }
}

/** Every job goes to the queue of its kind of key, and waits for its tenant's turn. */
function composeTurns({ pool, jobs, logger, metrics }: Kernel, signal: AbortSignal): Pick<Jobs, 'add'> {
  const place = createPlaceJobs(pool)
  const turns = takeTurns({ jobs, signal, log: logger })
  const text = "Jobs that the dispatcher holds until their tenant's turn, by queue."
  metrics.addGauge('bursar_jobs_held', text, ['queue'], async () =>
    [...turns.waiting()].map(([queue, value]) => ({ labels: { queue }, value })),
  )
  return { add: async (found) => turns.add(await place(found)) }
}

function dispatch({ pool, wakeUps, logger }: Kernel, jobs: Pick<Jobs, 'add'>, signal: AbortSignal): Promise<void> {
  const events = subscribe({ pool, wakeUps, name: DISPATCHER, signal, dataOf: DATA_OF })
  return dispatchEvents({
    subscription: withLanes(events, createLanesOf(pool)),
    routes: (event) => [...transactionJobs(event), ...WORK.flatMap((work) => work.jobsOf(event))],
    jobs,
    signal,
    log: logger,
  })
}

function sweepUnfinished(
  { config, pool, clock, logger }: Kernel,
  jobs: Pick<Jobs, 'add'>,
  signal: AbortSignal,
): Promise<void> {
  const { sweepIntervalMs, rebroadcastAfterMs } = config
  // Work that changed within the last interval still has its own job.
  const quietBefore = () => new Date(clock() - sweepIntervalMs)
  return sweep({
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
    intervalMs: sweepIntervalMs,
    signal,
    log: logger,
  })
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

/** Does nothing when shares may reach any age, or there are no mpc wallets. */
function keepSharesFresh(kernel: Kernel, run: (task: (signal: AbortSignal) => Promise<void>) => Promise<void>) {
  const { config, logger, pool, log, newId } = kernel
  const intervalDays = config.mpc?.refreshIntervalDays
  if (!intervalDays) return []
  const schedule = createScheduleRefreshes({ pool, log, newId, intervalDays })
  const onError = (error: unknown) => logger.warn({ err: error }, 'cannot check for old key shares; will retry')
  return [run((signal) => repeat(schedule, { intervalMs: config.sweepIntervalMs, signal, onError }))]
}

/** Deletes sealed keys that can no longer be fetched. */
function deleteExpired({ config, pool, clock, logger }: Kernel, signal: AbortSignal): Promise<void> {
  const onError = (error: unknown) => logger.warn({ err: error }, 'cannot delete expired exports; will retry')
  return repeat(() => deleteExpiredFiles(pool, new Date(clock())), {
    intervalMs: config.sweepIntervalMs,
    signal,
    onError,
  })
}

/** Does nothing without an IPFS node. */
function keepPins(kernel: Kernel, run: (task: (signal: AbortSignal) => Promise<void>) => Promise<void>) {
  const { config, logger } = kernel
  const repin = composeRepin(kernel)
  if (repin === null) return []
  const onError = (error: unknown) => logger.warn({ err: error }, 'cannot pin metadata on the IPFS node; will retry')
  return [run((signal) => repeat(() => repin(signal), { intervalMs: config.sweepIntervalMs, signal, onError }))]
}
