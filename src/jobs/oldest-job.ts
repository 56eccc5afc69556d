/** The job of a queue that waits longest: how an operator sees that a queue does not move. */
import type { BullQueue } from './bull.ts'
import type { OldestJob } from './jobs.ts'

const STATES = ['waiting', 'active', 'delayed'] as const

/** The back ends of BullMQ do not agree on which end of a list is its first: both are looked at. */
export async function findOldest(queue: BullQueue): Promise<OldestJob | null> {
  const ends = await Promise.all(
    STATES.flatMap((state) =>
      [true, false].map(async (ascending): Promise<OldestJob[]> => {
        const [job] = await queue.getJobs([state], 0, 0, ascending)
        if (job === undefined) return []
        return [{ id: job.deduplicationId ?? `#${job.id}`, state, addedAt: job.timestamp, attempts: job.attemptsMade }]
      }),
    ),
  )
  return ends.flat().toSorted((a, b) => a.addedAt - b.addedAt)[0] ?? null
}
