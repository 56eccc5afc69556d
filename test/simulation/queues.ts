/** Unreliable job queues: during the storm, jobs are delivered twice, in any order, or never. */

import type { QueueName } from '../../src/declarations.ts'
import type { Job } from '../../src/jobs/queues.ts'
import type { Random } from '../support/load-random.ts'

export type Queues = {
  readonly add: (jobs: readonly Job[]) => void
  readonly has: (queue: QueueName) => boolean
  readonly take: (queue: QueueName) => Job | null
  readonly size: () => number
  readonly empty: () => void
  /** The number of events that the dispatcher has handled. */
  readonly checkpoint: () => number
  readonly commit: (events: number) => void
}

export function createQueues(random: Random, storm: () => boolean): Queues {
  let waiting: Job[] = []
  let told = 0
  return {
    add(jobs) {
      for (const job of jobs) {
        if (storm() && random.chance(0.05)) continue
        const known = waiting.some(({ queue, id }) => queue === job.queue && id === job.id)
        if (!known || (storm() && random.chance(0.2))) waiting.push(job)
      }
    },
    has: (queue) => waiting.some((job) => job.queue === queue),
    take(queue) {
      const fitting = waiting.filter((job) => job.queue === queue)
      if (fitting.length === 0) return null
      const job = random.pick(fitting)
      if (!(storm() && random.chance(0.1))) waiting = waiting.filter((other) => other !== job)
      return job
    },
    size: () => waiting.length,
    checkpoint: () => told,
    commit: (events) => {
      told = events
    },
    empty: () => {
      waiting = []
    },
  }
}
