/**
 * Appends concurrently with the follower, which writes the same streams: after a conflict everything is decided again.
 */
import type { Change } from '../event-log/aggregate.ts'
import type { EventLog } from '../event-log/log.ts'
import { type RepeatOptions, repeatOnConflict } from '../event-log/repeat-on-conflict.ts'

/**
 * Decides and appends, and repeats both after a conflict.
 *
 * @returns the number of changed streams
 * @throws errors of deciding or appending
 */
export function appendDecided(
  log: EventLog,
  decide: () => Promise<readonly Change[]>,
  options?: RepeatOptions,
): Promise<number> {
  return repeatOnConflict(async () => {
    const changes = await decide()
    if (changes.length > 0) await log.append({ changes })
    return changes.length
  }, options)
}
