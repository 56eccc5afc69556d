/** The job of a queue that waits longest: how an operator sees that a queue does not move. */
import type { BullQueue } from './bull.ts'
import type { OldestJob } from './jobs.ts'

const STATES = ['waiting', 'active', 'delayed'] as const
/** Jobs that are looked at from either end of a list. Jobs of one moment may stand there in any order. */
const LOOKED_AT = 500

/** The back ends of BullMQ do not agree on which end of a list is its first: both are looked at. */
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
