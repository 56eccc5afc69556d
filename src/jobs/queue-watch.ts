/**
 * Looks at all queues of a process with one statement, so that idle workers need not poll their queues one by one. It
 * wakes a worker whose wake-up was lost, and says where a worker may have died during a job.
 */

/** What a queue has, whoever works on it. */
export type QueueSight = {
  readonly hasActive: boolean
  readonly hasDelayed: boolean
  /** A job waits for a worker, or its retry is due. */
  readonly isReady: boolean
}

/** Queues that are not in the result have no job. */
export type LookAtQueues = (queues: readonly string[]) => Promise<ReadonlyMap<string, QueueSight>>

export type QueueWatch = {
  /** Whether a job of the queue may be running, here or elsewhere. */
  readonly hasActive: (queue: string) => boolean
  /** Calls `wake` when the queue has a job, until the returned function is called. */
  readonly wait: (queue: string, wake: () => Promise<void>) => () => void
  readonly stop: () => void
}

/** Interval while there are jobs: that of the search for jobs of dead workers. */
const BUSY_LOOK_MS = 1_000
/** Interval at rest: the longest that a job waits after a lost wake-up, or the search for a dead worker begins later. */
const IDLE_LOOK_MS = 5_000

/** Begins with the first queue that is asked for. @param onError gets the errors of `look`, which is then repeated */
export function createQueueWatch(look: LookAtQueues, onError: (error: unknown, fields: object) => void): QueueWatch {
  const queues = new Set<string>()
  const waiting = new Map<string, () => Promise<void>>()
  let sights: ReadonlyMap<string, QueueSight> | null = null
  let timer: NodeJS.Timeout | null = null
  let isStopped = false

  function follow(queue: string): void {
    if (queues.has(queue)) return
    queues.add(queue)
    sights = null
    timer ??= setTimeout(() => void lookAround(), 0)
  }

  async function lookAround(): Promise<void> {
    const asked = [...queues]
    try {
      const seen = await look(asked)
      sights = queues.size === asked.length ? seen : null
      // Not waited for: a worker that does not wake up stops no look at the other queues.
      for (const [queue, { isReady }] of seen) if (isReady) void wake(queue)
    } catch (error) {
      sights = null
      if (!isStopped) onError(error, {})
    }
    if (!isStopped) timer = setTimeout(() => void lookAround(), sights?.size === 0 ? IDLE_LOOK_MS : BUSY_LOOK_MS)
  }

  async function wake(queue: string): Promise<void> {
    try {
      await waiting.get(queue)?.()
    } catch (error) {
      if (!isStopped) onError(error, { queue })
    }
  }

  return {
    hasActive(queue) {
      follow(queue)
      return sights?.get(queue)?.hasActive ?? sights === null
    },
    wait(queue, wake) {
      follow(queue)
      waiting.set(queue, wake)
      return () => waiting.delete(queue)
    },
    stop() {
      isStopped = true
      if (timer !== null) clearTimeout(timer)
    },
  }
}
