/** The state of the log at a time, once it no longer changes. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../core/ids.ts'

/**
 * Events are stamped before they are committed: by this time after a moment, everything stamped before it is committed.
 * Longer only if the database stands still, or the clocks of processes differ by as much.
 */
const SETTLED_AFTER_MS = 1_000

/** Waits until what is recorded at a past time is committed: at most a second, and not at all for older times. */
export async function untilSettled(at: Date, clock: Clock): Promise<void> {
  const remaining = Math.min(at.getTime() + SETTLED_AFTER_MS - clock(), SETTLED_AFTER_MS)
  if (remaining > 0) await delay(remaining)
}
