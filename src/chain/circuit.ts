/**
 * Keeps a broken server from being asked again and again, and lets one request through after each cool-down, so that it
 * comes back by itself.
 */

/** One failure is an accident; the third in a row is a state. */
const FAILURES_TO_OPEN = 3

const FIRST_COOL_DOWN_MS = 500
/** A server that came back is noticed after at most this long; one trial in that time costs nothing. */
const MAX_COOL_DOWN_MS = 5_000
/** A server may ask for a pause (Retry-After); for no longer than this. */
const MAX_ASKED_PAUSE_MS = 60_000

export type Circuit = {
  /** Whether a request may go now. While open, `true` is given once per cool-down: to the trial. */
  readonly admit: () => boolean
  readonly succeeded: () => void
  /**
   * @param startedAt when the failed request began: of many that fail together, one counts
   * @param pauseMs how long the server asked to be left alone
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
      // The trial takes the place of the next ones until it has spoken, or a cool-down has passed without a word.
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
