/**
 * Appends concurrently with the follower, which writes the same streams: after a conflict everything is decided again.
 */
import type { Change } from '../event-log/aggregate.ts'
import { StreamConflict } from '../event-log/commit.ts'
import type { EventLog } from '../event-log/log.ts'

/** The follower writes a stream at most once per step: more conflicts in a row are a defect. */
const MAX_CONFLICTS = 10

/**
 * Decides and appends, and repeats both after a conflict.
 *
 * @returns the number of changed streams
 * @throws errors of deciding or appending
 */
export async function appendDecided(log: EventLog, decide: () => Promise<readonly Change[]>): Promise<number> {
  for (let conflicts = 0; ; conflicts += 1) {
    const changes = await decide()
    if (changes.length === 0) return 0
    try {
      await log.append({ changes })
      return changes.length
    } catch (error) {
      if (!(error instanceof StreamConflict) || conflicts >= MAX_CONFLICTS) throw error
    }
  }
}
