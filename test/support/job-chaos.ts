/**
 * Jobs delivered as unreliably as possible: each delayed by a random time, so that the order changes, and delivered
 * again long after it is done.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kernel } from '../../src/compose/kernel.ts'
import type { JobHandler } from '../../src/jobs/jobs.ts'
import type { Random } from './load-random.ts'

/** Longer than it takes to sign, submit and mine: jobs of one lane overtake each other. */
const LATE_MS = 400
const AGAIN_AFTER_MS = 1_500

export type JobChaos = {
  readonly onKernel: (kernel: Kernel) => void
  /** Resolves when every job was delivered for the second time. */
  readonly settled: () => Promise<void>
  readonly counts: { delivered: number; again: number; outOfOrder: number }
}

export function createJobChaos(random: Random): JobChaos {
  const again: Promise<void>[] = []
  const counts = { delivered: 0, again: 0, outOfOrder: 0 }
  let newest = 0

  const disordered =
    (handler: JobHandler): JobHandler =>
    async (data, context) => {
      counts.delivered += 1
      const number = counts.delivered
      await sleep(random.next() * LATE_MS)
      if (number < newest) counts.outOfOrder += 1
      newest = Math.max(newest, number)
      again.push(
        sleep(AGAIN_AFTER_MS * random.next()).then(async () => {
          counts.again += 1
          await handler(data, context).catch(() => undefined) // The queue would retry it: this was the second delivery.
        }),
      )
      await handler(data, context)
    }

  return {
    counts,
    settled: async () => void (await Promise.all(again)),
    onKernel({ jobs }) {
      const { process } = jobs
      const watched: typeof process = (queue, handler, options) => process(queue, disordered(handler), options)
      Object.assign(jobs, { process: watched })
    },
  }
}
