/**
 * Jobs of lanes become jobs of their partitions, each at most once a second: the process that has a partition learns of new
 * work from wake-ups, and needs no job for it.
 *
 * Invariant: after a job of a lane its partition gets a job, at once or within a second. One that waits here is lost with
 * the process: the sweeper finds its work.
 */
import { LRUCache } from 'lru-cache'
import { atMost } from '../core/at-most.ts'
import type { Wake } from '../event-log/wake-ups.ts'
import { type Clockwork, REAL_TIME } from '../jobs/clockwork.ts'
import type { Job } from '../jobs/queues.ts'
import { isOfLaneAlone } from './jobs.ts'
import { LANE_QUEUES, type LaneQueue, partitionOf, STEPS, workName } from './partitions.ts'

/** Between two jobs of a partition: shorter than a partition without work is kept. */
const PAUSE_MS = 1_000
/** Lanes whose queue is remembered: about 100 bytes each. */
const LANES_KNOWN = 50_000

export type PartitionJobs = {
  /** @throws errors of the `add` that it was made with */
  readonly add: (jobs: readonly Job[]) => Promise<void>
  /**
   * Whether an append needs a job now. It does not when it only names work of lanes whose partitions had their job within the last
   * second: the processes that have them were woken by the same wake-up.
   */
  readonly isUrgent: (wake: Wake) => boolean
}

export function createPartitionJobs({
  add,
  tell,
  onError,
  signal,
  time = REAL_TIME,
}: {
  readonly add: (jobs: readonly Job[]) => Promise<void>
  /** Tells the processes that have the lanes. */
  readonly tell: (work: readonly string[]) => void
  readonly onError: (error: unknown) => void
  readonly signal: AbortSignal
  readonly time?: Clockwork
}): PartitionJobs {
  const addedAt = new Map<string, number>()
  const queueOf = new LRUCache<string, LaneQueue>(atMost(LANES_KNOWN))
  const later = new Map<string, Job>()
  let isWaiting = false

  const restMs = (job: Job) => (addedAt.get(keyOf(job)) ?? Number.NEGATIVE_INFINITY) + PAUSE_MS - time.now()

  /** Adds jobs of partitions with what waited for the same ones, which stays here after an error. */
  async function addNow(partitions: readonly Job[], others: readonly Job[]): Promise<void> {
    const waited = partitions.map((job) => later.get(keyOf(job)))
    await add([...partitions.map((job, index) => merged(waited[index], job)), ...others])
    for (const [index, job] of partitions.entries()) {
      addedAt.set(keyOf(job), time.now())
      if (later.get(keyOf(job)) === waited[index]) later.delete(keyOf(job))
    }
  }

  function addLater(atLeastMs = 0): void {
    if (isWaiting || later.size === 0 || signal.aborted) return
    isWaiting = true
    time.after(Math.max(atLeastMs, Math.min(...[...later.values()].map(restMs))), () => void addDue())
  }

  async function addDue(): Promise<void> {
    const due = [...later.values()].filter((job) => restMs(job) <= 0)
    let pauseMs = 0
    try {
      if (due.length > 0 && !signal.aborted) await addNow(due, [])
    } catch (error) {
      onError(error)
      pauseMs = PAUSE_MS
    }
    isWaiting = false
    addLater(pauseMs)
  }

  function isHeld(work: string): boolean {
    const queue = queueOf.get(work)
    const partition = partitionOf(work.slice(work.indexOf(' ') + 1))
    return queue !== undefined && partition !== null && restMs({ queue, id: partition, data: {} }) > 0
  }

  async function addAll(jobs: readonly Job[]): Promise<void> {
    const others = jobs.filter((job) => !isOfLane(job))
    const lanes = jobs.filter(isOfLane)
    for (const { queue, data } of lanes) queueOf.set(workName(STEPS[queue], data.lane ?? ''), queue)
    const partitions = new Map<string, Job>()
    for (const job of lanes) {
      const own = partitionJob(job)
      if (own !== null) partitions.set(keyOf(own), merged(partitions.get(keyOf(own)), own))
    }
    const due = [...partitions.values()].filter((job) => restMs(job) <= 0)
    for (const job of partitions.values())
      if (!due.includes(job)) later.set(keyOf(job), merged(later.get(keyOf(job)), job))
    addLater()
    if (due.length + others.length > 0) await addNow(due, others)
    const work = lanes.flatMap(({ queue, data }) =>
      data.told === undefined ? [] : [workName(STEPS[queue], data.lane ?? '')],
    )
    if (work.length > 0) tell(work)
  }

  return {
    add: addAll,
    isUrgent: ({ types, work }) =>
      types === null || work === null || ![...types].every(isOfLaneAlone) || !work.every(isHeld),
  }
}

type LaneJob = Job & { readonly queue: LaneQueue }

function isOfLane(job: Job): job is LaneJob {
  return (LANE_QUEUES as readonly string[]).includes(job.queue)
}

function partitionJob({ queue, data }: LaneJob): Job | null {
  const partition = partitionOf(data.lane ?? '')
  if (partition === null) return null
  return { queue, id: partition, data: { partition, ...(data.stale === undefined ? {} : { stale: data.stale }) } }
}

function merged(before: Job | undefined, job: Job): Job {
  return before === undefined ? job : { ...job, data: { ...before.data, ...job.data } }
}

function keyOf({ queue, id }: Job): string {
  return `${queue} ${id}`
}
