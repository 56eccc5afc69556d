/** An outage causes hundreds of connection errors: the first is logged, then one line per interval with a count. */
import type { JobsLog } from './jobs.ts'

const INTERVAL_MS = 10_000

/** Returns a function that logs errors of the back end without flooding the log. */
export function createErrorLog(
  log: JobsLog,
  now: () => number = () => performance.now(),
): (error: unknown, fields: object) => void {
  let quietUntil = 0
  let suppressed = 0
  return (error, fields) => {
    if (now() < quietUntil) {
      suppressed += 1
      return
    }
    log.warn({ ...fields, err: error, suppressed }, 'queue back end error')
    suppressed = 0
    quietUntil = now() + INTERVAL_MS
  }
}
