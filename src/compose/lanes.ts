/** Signers and submitters work on the lanes of the partitions that they hold. */
import { BursarError } from '../core/errors.ts'
import type { Fence } from '../event-log/leases.ts'
import { repeat } from '../event-log/repeat.ts'
import { createDrain, type Drain, type Passed } from '../jobs/drain.ts'
import type { JobWorker } from '../jobs/jobs.ts'
import type { Job, JobData } from '../jobs/queues.ts'
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
/** For so long after a process gave partitions back it takes no more than its share: they go to others. */
const GIVING_MS = 2_000
/** Until a job that was not taken is there for others again. */
const LEFT_MS = 250
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
  /** Unknown at first: the limits of tenants are those of all processes together. */
  let peers: number | null = null
  let sharesUntil = Number.NEGATIVE_INFINITY
  const share = () => Math.ceil(PARTITIONS.length / (peers ?? 1))
  const isToShare = () => performance.now() < sharesUntil && drain.held() >= share()
  const drain = createDrain({
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
      ofTenant: () =>
        ofTenant === undefined ? atOnce - Math.floor(atOnce * OF_OTHERS) : Math.ceil(ofTenant / (peers ?? ofTenant)),
    },
    onError: (error) => logger.warn({ err: error, queue }, 'cannot look for work; will retry'),
    onFailed(lane, error, { tries, isFinal }) {
      logger.warn({ err: error, queue, lane, tries }, 'a lane failed; it is tried again, and others go on')
      if (isFinal) void reportFailed(kernel, queue, lane, error)
    },
  })
  const stopListening = wakeUps.listen(({ work: names }) => {
    if (names === null) drain.lookAgain()
    else drain.wake(names.flatMap((name) => laneOfWork(step, name) ?? []))
  })
  const worker = jobs.process(queue, (data, { signal }) => hold({ kernel, queue, drain, isToShare }, data, signal), {
    concurrency: JOBS_AT_ONCE,
  })
  const stopping = new AbortController()
  const sharing = repeat(
    async () => {
      if (drain.held() === 0 && peers !== null) return
      peers = await countPeers(kernel)
      if (drain.held() <= share()) return
      sharesUntil = performance.now() + GIVING_MS
      drain.keepOnly(share())
    },
    {
      intervalMs: SHARE_MS,
      signal: stopping.signal,
      onError: (error) => logger.warn({ err: error }, 'cannot count the processes that share the lanes; will retry'),
    },
  )
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
  /** Whether partitions that it does not have are for others now. */
  readonly isToShare: () => boolean
}

async function hold(
  { kernel, queue, drain, isToShare }: Holder,
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
  if (isToShare()) return addLater(kernel, again, LEFT_MS)
  const first = lane === undefined ? [] : [lane]
  const outcome = await drain.hold(name, { isStale: stale !== undefined || lane !== undefined, first }, signal)
  if (outcome === 'left') await jobs.add([again])
  // The job may be that of a process that died or hangs: by then its lease has expired.
  if (outcome === 'taken') addLater(kernel, again, kernel.config.leaseMs)
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

/** Processes of this kind that live, with this one. */
async function countPeers({ pool, processName }: Kernel): Promise<number> {
  const { rows } = await pool.query<{ n: string }>({
    name: 'count_peers',
    text: `SELECT count(*) AS n FROM heartbeats WHERE process = $1 AND beat_at > clock_timestamp() - interval '15 seconds'`,
    values: [processName],
  })
  return Math.max(1, Number(rows[0]?.n ?? 1))
}
