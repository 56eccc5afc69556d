/** When a delivery is attempted again. Pure: chance comes in. */

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** After each failed attempt, in ms: the schedule that Standard Webhooks 1.0.0 gives as its example. */
const DELAYS_MS = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
] as const

/** Attempts of a delivery, over three days. */
export const MAX_ATTEMPTS = DELAYS_MS.length + 1
/** Deliveries that failed together are not attempted together again. */
const JITTER = 0.1
/** A receiver that asks for more is asked again after this time. */
const LONGEST_WAIT_MS = 24 * HOUR

/**
 * Ms from a failed attempt to the next one; `null` when that was the last.
 *
 * @param attempts the number of attempts so far, at least 1
 * @param retryAfterMs what the receiver asked for; `null` for nothing
 * @param chance in [0, 1)
 */
export function nextDelayMs(attempts: number, retryAfterMs: number | null, chance: number): number | null {
  const delay = DELAYS_MS[attempts - 1]
  if (delay === undefined) return null
  const spread = Math.round(delay * (1 + JITTER * (2 * chance - 1)))
  return Math.max(spread, Math.min(retryAfterMs ?? 0, LONGEST_WAIT_MS))
}
