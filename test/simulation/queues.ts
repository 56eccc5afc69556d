/**
 * Unreliable job queues: during the storm, jobs are delivered twice, in any order, or never. As in the service's queues,
 * a job that is added while one of its id runs waits until that ends, or until its process dies.
 */

import type { QueueName } from '../../src/core/registry.ts'
import type { Job } from '../../src/jobs/queues.ts'
import type { Random } from '../support/load-random.ts'
import type { Actor } from './scheduler.ts'

export type Queues = {
  readonly add: (jobs: readonly Job[]) => void
  readonly has: (queue: QueueName) => boolean
  readonly take: (queue: QueueName, actor: Actor) => Job | null
  /** The job has ended. */
  readonly done: (job: Job) => void
  readonly size: () => number
  readonly empty: () => void
  /** The number of events that the dispatcher has handled. */
  readonly checkpoint: () => number
  readonly commit: (events: number) => void
}

type Active = { readonly job: Job; readonly actor: Actor; kept: Job | null }

export function createQueues(random: Random, storm: () => boolean): Queues {
  let waiting: Job[] = []
  let told = 0
  const active = new Map<string, Active>()
  const keyOf = ({ queue, id }: Job) => `${queue} ${id}`

  function push(job: Job): void {
    if (!waiting.some((other) => keyOf(other) === keyOf(job)) || (storm() && random.chance(0.2))) waiting.push(job)
  }

  /** A worker's death frees its jobs. */
  function freeDead(): void {
    for (const [key, { job, actor }] of active) {
      if (actor.alive) continue
      active.delete(key)
      push(job)
    }
  }

  return {
    add(jobs) {
      freeDead()
      for (const job of jobs) {
        if (storm() && random.chance(0.05)) continue
        const running = active.get(keyOf(job))
        if (running === undefined || (storm() && random.chance(0.2))) push(job)
        else running.kept = job
      }
    },
    has(queue) {
      freeDead()
      return waiting.some((job) => job.queue === queue)
    },
    take(queue, actor) {
      const fitting = waiting.filter((job) => job.queue === queue)
      if (fitting.length === 0) return null
      const job = random.pick(fitting)
      if (!(storm() && random.chance(0.1))) waiting = waiting.filter((other) => other !== job)
      if (!active.has(keyOf(job))) active.set(keyOf(job), { job, actor, kept: null })
      return job
    },
    done(job) {
      const own = active.get(keyOf(job))
      if (own?.job !== job) return
      active.delete(keyOf(job))
      if (own.kept !== null) push(own.kept)
    },
    size: () => waiting.length,
    checkpoint: () => told,
    commit: (events) => {
      told = events
    },
    empty: () => {
      waiting = []
      active.clear()
    },
  }
}
