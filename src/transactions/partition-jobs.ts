/**
 * Jobs of lanes become jobs of their partitions, each at most once a second: the process that has a partition learns of new
 * work from wake-ups, and needs no job for it.
 *
 * Invariant: after a job of a lane its partition gets a job, at once or within a second. One that waits here is lost with
 * the process: the sweeper finds its work.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Job } from '../jobs/queues.ts'
import { LANE_QUEUES, type LaneQueue, partitionOf, STEPS, workName } from './partitions.ts'

/** Between two jobs of a partition: shorter than a partition without work is kept. */
const PAUSE_MS = 1_000

type Ports = {
  readonly add: (jobs: readonly Job[]) => Promise<void>
  /** Tells the processes that have the lanes. */
  readonly tell: (work: readonly string[]) => void
  readonly onError: (error: unknown) => void
  readonly signal: AbortSignal
  /** Passed in where time is simulated. */
  readonly now?: () => number
}

/** @returns `add` of jobs; @throws errors of `add` */
export function createPartitionJobs(ports: Ports): (jobs: readonly Job[]) => Promise<void> {
  const { now = () => performance.now() } = ports
  const addedAt = new Map<string, number>()
  const later = new Map<string, Job>()

  async function addLater(): Promise<void> {
    await delay(PAUSE_MS, undefined, { signal: ports.signal }).catch(() => undefined)
    if (ports.signal.aborted) return
    const jobs = [...later.values()]
    later.clear()
    try {
      await ports.add(jobs)
      for (const job of jobs) addedAt.set(keyOf(job), now())
    } catch (error) {
      ports.onError(error)
      postpone(jobs)
    }
  }

  function postpone(jobs: readonly Job[]): void {
    if (jobs.length > 0 && later.size === 0) void addLater()
    for (const job of jobs) later.set(keyOf(job), merged(later.get(keyOf(job)), job))
  }

  return async (jobs) => {
    const others = jobs.filter((job) => !isOfLane(job))
    const lanes = jobs.filter(isOfLane)
    const partitions = new Map<string, Job>()
    for (const job of lanes) {
      const own = partitionJob(job)
      if (own !== null) partitions.set(keyOf(own), merged(partitions.get(keyOf(own)), own))
    }
    const isEarly = (job: Job) => (addedAt.get(keyOf(job)) ?? Number.NEGATIVE_INFINITY) > now() - PAUSE_MS
    const due = [...partitions.values()].filter((job) => !isEarly(job))
    postpone([...partitions.values()].filter(isEarly))
    if (due.length + others.length > 0) await ports.add([...due, ...others])
    for (const job of due) addedAt.set(keyOf(job), now())
    const work = lanes.flatMap(({ queue, data }) =>
      data.told === undefined ? [] : [workName(STEPS[queue], data.lane ?? '')],
    )
    if (work.length > 0) ports.tell(work)
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
