/** Appends beside the follower, which writes the same streams: when it wrote meanwhile, all is decided again. */
import type { Change } from '../event-log/aggregate.ts'
import { StreamConflict } from '../event-log/commit.ts'
import type { EventLog } from '../event-log/log.ts'

/** The follower writes a stream at most once a step: more conflicts in a row than this are a defect. */
const MAX_CONFLICTS = 10

/**
 * Decides and appends, until nobody wrote in between.
 *
 * @returns how many streams were changed
 * @throws what deciding or appending throws
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
