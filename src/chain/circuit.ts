/**
 * A circuit breaker: stops requests to a failing server and lets one trial request through after each cool-down, so
 * that recovery is detected automatically.
 */

/** Consecutive failures that open the circuit; one or two can be accidental. */
const FAILURES_TO_OPEN = 3

const FIRST_COOL_DOWN_MS = 500
/** A recovered server is noticed after at most this long; one trial in that time costs nothing. */
const MAX_COOL_DOWN_MS = 5_000
/** Upper bound on the pause that a server requests (Retry-After). */
const MAX_ASKED_PAUSE_MS = 60_000

export type Circuit = {
  /** Whether a request may go now. While open, `true` is returned once per cool-down, to the trial. */
  readonly admit: () => boolean
  readonly succeeded: () => void
  /**
   * @param startedAt when the failed request began: of requests that fail together, one counts
   * @param pauseMs the pause that the server requested
   */
  readonly failed: (startedAt: number, pauseMs?: number) => void
  readonly failures: () => number
  readonly isOpen: () => boolean
}

/** @param now a clock, ms */
export function createCircuit(now: () => number): Circuit {
  let failures = 0
  let lastFailureAt = Number.NEGATIVE_INFINITY
  let closedUntil = Number.NEGATIVE_INFINITY

  const coolDown = (): number => {
    if (failures < FAILURES_TO_OPEN) return 0
    return Math.min(FIRST_COOL_DOWN_MS * 2 ** (failures - FAILURES_TO_OPEN), MAX_COOL_DOWN_MS)
  }

  return {
    admit: () => {
      if (now() < closedUntil) return false
      // No other request goes until the trial has its result, or a cool-down has passed without one.
      closedUntil = now() + coolDown()
      return true
    },
    succeeded: () => {
      failures = 0
      closedUntil = Number.NEGATIVE_INFINITY
    },
    failed: (startedAt, pauseMs = 0) => {
      if (startedAt > lastFailureAt) failures += 1
      lastFailureAt = now()
      closedUntil = now() + Math.max(coolDown(), Math.min(pauseMs, MAX_ASKED_PAUSE_MS))
    },
    failures: () => failures,
    isOpen: () => now() < closedUntil,
  }
}
