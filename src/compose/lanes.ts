/** Signers and submitters work on the lanes of the partitions that they hold. */
import { BursarError } from '../core/errors.ts'
import type { Fence } from '../event-log/leases.ts'
import { repeat } from '../event-log/repeat.ts'
import { HEARTBEATS, LEASES } from '../event-log/sql.ts'
import { Drain, type Passed } from '../jobs/drain.ts'
import type { JobWorker } from '../jobs/jobs.ts'
import type { Job, JobData } from '../jobs/queues.ts'
import { createShare, type Others, type Share } from '../jobs/share.ts'
import { createTenantsOf, findLanes } from '../transactions/find-lanes.ts'
import { type Lane, parseLane } from '../transactions/lanes.ts'
import {
  isPartition,
  type LaneQueue,
  laneOfWork,
  PARTITIONS,
  partitionLease,
  partitionOf,
  STEPS,
  workName,
} from '../transactions/partitions.ts'
import type { Kernel } from './kernel.ts'

/** Passes at once, for each chain. They mostly wait for the database and the nodes. */
const OF_CHAIN = 64
/** Of them a tenant never has this part, 8 of 64: its slow calls leave room for others. */
const OF_OTHERS = 1 / 8
/** How often a process looks whether others should have some of its partitions. */
const SHARE_MS = 5_000
/** Jobs of single lanes that failed are taken also by a process that has all partitions. */
const JOBS_AT_ONCE = PARTITIONS.length + 4
/** Until a job that was not taken is there for others again. */
const LEFT_MS = 250
/** Until a partition that another process has is tried again: that one may be dead, and then its lease expires. */
const TAKEN_MS = 500
/** A heartbeat comes every 5 s. */
const IDLE_MS = 6_500
/** The longest reason that fits into a job, as base64url. */
const REASON_BYTES = 180

export type LaneWork = {
  readonly queue: LaneQueue
  readonly pass: (lane: Lane, lease: Fence) => Promise<Passed>
  /** By default as many as of a chain. */
  readonly atOnce?: number
  /** Passes of one tenant at once, in all processes together. */
  readonly ofTenant?: number
}

export type LaneWorker = Pick<JobWorker, 'close'>

export function workOnLanes(kernel: Kernel, work: LaneWork): LaneWorker {
  const { queue, pass, atOnce = OF_CHAIN, ofTenant } = work
  const { config, pool, leases, jobs, wakeUps, logger } = kernel
  const step = STEPS[queue]
  const drain = new Drain({
    leases,
    leaseMs: config.leaseMs,
    leaseOf: (partition) => partitionLease(queue, partition),
    partitionOf,
    find: (partitions, isStale) => findLanes(pool, step, partitions, isStale),
    tenantsOf: createTenantsOf(pool, queue),
    groupOf: (lane) => lane.slice(0, lane.indexOf('-')),
    pass: (lane, lease) => pass(parseLane(lane), lease),
    atOnce: {
      ofGroup: atOnce,
      // Unknown at first: the limits of tenants are those of all processes together.
      ofTenant: () =>
        ofTenant === undefined
          ? atOnce - Math.floor(atOnce * OF_OTHERS)
          : Math.max(1, Math.floor(ofTenant / (share.living() ?? ofTenant))),
    },
    onError: (error) => logger.warn({ err: error, queue }, 'cannot look for work; will retry'),
    onFailed(lane, error, { tries, isFinal }) {
      logger.warn({ err: error, queue, lane, tries }, 'a lane failed; it is tried again, and others go on')
      if (isFinal) void reportFailed(kernel, queue, lane, error)
    },
  })
  const share = createShare({ partitions: PARTITIONS.length, drain, others: () => othersOf(kernel, queue) })
  const stopListening = wakeUps.listen(({ work: names }) => {
    if (names === null) drain.lookAgain()
    else drain.wake(names.flatMap((name) => laneOfWork(step, name) ?? []))
  })
  const takenSince = new Map<string, number>()
  const worker = jobs.process(
    queue,
    (data, { signal }) => hold({ kernel, queue, drain, share, takenSince }, data, signal),
    {
      concurrency: JOBS_AT_ONCE,
    },
  )
  const stopping = new AbortController()
  const sharing = repeat(share.look, {
    intervalMs: SHARE_MS,
    signal: stopping.signal,
    onError: (error) => logger.warn({ err: error }, 'cannot count the processes that share the lanes; will retry'),
  })
  return {
    async close() {
      stopping.abort()
      await Promise.all([worker.close(), sharing])
      stopListening()
    },
  }
}

type Holder = {
  readonly kernel: Kernel
  readonly queue: LaneQueue
  readonly drain: Drain
  readonly share: Pick<Share, 'isForOthers'>
  /** Since when another process has had a partition of which jobs came here. */
  readonly takenSince: Map<string, number>
}

async function hold(
  { kernel, queue, drain, share, takenSince }: Holder,
  { partition, lane, reason, stale }: JobData,
  signal: AbortSignal,
): Promise<void> {
  const { jobs, wakeUps } = kernel
  if (lane !== undefined && reason !== undefined) throw new LaneFailed(Buffer.from(reason, 'base64url').toString())
  const name = partition ?? (lane === undefined ? null : partitionOf(lane))
  if (name === null || !isPartition(name)) throw new LaneFailed('The job names no partition of lanes.')
  // Retried by an operator: another process may have the partition.
  if (lane !== undefined) wakeUps.announce([], [workName(STEPS[queue], lane)])
  const again: Job = { queue, id: name, data: { partition: name, ...(stale === undefined ? {} : { stale }) } }
  if (share.isForOthers()) return addLater(kernel, again, LEFT_MS)
  const first = lane === undefined ? [] : [lane]
  const outcome = await drain.hold(name, { isStale: stale !== undefined || lane !== undefined, first }, signal)
  if (outcome !== 'taken') takenSince.delete(name)
  if (outcome === 'left') await jobs.add([again])
  if (outcome === 'taken') addLater(kernel, again, untilFree(takenSince, name, kernel.config.leaseMs))
}

/** The job may be that of a process that died or hangs: its lease expires soon. One that lives needs no other job. */
function untilFree(takenSince: Map<string, number>, name: string, leaseMs: number): number {
  const now = performance.now()
  const since = takenSince.get(name) ?? now
  takenSince.set(name, since)
  return now - since < leaseMs + TAKEN_MS ? TAKEN_MS : leaseMs
}

function addLater({ jobs, logger }: Kernel, job: Job, inMs: number): void {
  const add = () =>
    jobs
      .add([job])
      .catch((err: unknown) => logger.warn({ err, job }, 'cannot queue a partition; a sweep finds its work'))
  setTimeout(() => void add(), inMs).unref()
}

/** A lane that failed as often as a job may: operators see it among the failed jobs, and may retry it there. */
class LaneFailed extends BursarError {
  override readonly type = 'internal_error'
  override readonly code = 'lane_failed'
  override readonly retryable = false
}

async function reportFailed({ jobs, logger }: Kernel, queue: LaneQueue, lane: string, error: unknown): Promise<void> {
  const reason = Buffer.from(reasonOf(error)).subarray(0, REASON_BYTES).toString('base64url')
  await jobs
    .add([{ queue, id: lane, data: { lane, reason } }])
    .catch((err: unknown) => logger.warn({ err, lane }, 'cannot report a failed lane; will retry'))
}

function reasonOf(error: unknown): string {
  if (error instanceof BursarError) return `${error.items[0]?.code ?? error.code}: ${error.message}`
  return error instanceof Error && error.message !== '' ? error.message : String(error)
}

/**
 * The other processes that work on lanes of a queue. One that has just died holds its leases longer than it counts as idle.
 * Each may write heartbeats and leases of its own kind alone.
 */
async function othersOf({ pool, processName, instance }: Kernel, queue: LaneQueue): Promise<Others> {
  const names = PARTITIONS.map((partition) => partitionLease(queue, partition))
  const { rows } = await pool.query<{ holders: string; idle: string }>({
    name: 'others_of_lanes',
    text: `WITH others AS (SELECT DISTINCT holder FROM ${LEASES} AS leases
             WHERE name = ANY ($1::text[]) AND holder <> $3 AND expires_at > clock_timestamp())
           SELECT (SELECT count(*) FROM others) AS holders,
                  (SELECT count(*) FROM ${HEARTBEATS} AS heartbeats WHERE process = $2
                      AND beat_at > clock_timestamp() - ${IDLE_MS} * interval '1 millisecond'
                      AND process || '@' || instance <> $3 AND process || '@' || instance NOT IN (SELECT holder FROM others)) AS idle`,
    values: [names, processName, `${processName}@${instance}`],
  })
  return { holders: Number(rows[0]?.holders ?? 0), idle: Number(rows[0]?.idle ?? 0) }
}
