/** The job of a queue that has waited longest: shows operators that a queue is stuck. */
import type { BullQueue } from './bull.ts'
import type { OldestJob } from './jobs.ts'

const STATES = ['waiting', 'active', 'delayed'] as const
/** Jobs examined at each end of a list. Jobs added at the same moment may be in any order. */
const LOOKED_AT = 500

/** BullMQ's back ends disagree on which end of a list is first: both are examined. */
export async function findOldest(queue: BullQueue): Promise<OldestJob | null> {
  const ends = await Promise.all(
    STATES.flatMap((state) =>
      [true, false].map(async (ascending): Promise<OldestJob[]> => {
        const jobs = await queue.getJobs([state], 0, LOOKED_AT - 1, ascending)
        return jobs.map(({ deduplicationId, id, timestamp: addedAt, attemptsMade: attempts }) => ({
          id: deduplicationId ?? `#${id}`,
          state,
          addedAt,
          attempts,
        }))
      }),
    ),
  )
  return ends.flat().toSorted((a, b) => a.addedAt - b.addedAt)[0] ?? null
}
