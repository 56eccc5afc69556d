/** After how long something counts as stuck. Derived from the settings: what is configured to be slow is not stuck. */

export type OperatorSettings = {
  readonly sweepIntervalMs: number
  readonly rebroadcastAfterMs: number
  readonly replaceAfterMs: number
  readonly leaseMs: number
  readonly maxInFlightPerLane: number
}

export type Limits = OperatorSettings & {
  /**
   * For work that is done immediately: signing, submitting, creating a key. The sweeper has run three times by then.
   */
  readonly workMs: number
  /** For a submitted transaction to be mined; two rounds of fee bumps have passed by then. */
  readonly blockMs: number
  /** Time for the next holder to take an expired lease. */
  readonly leaseGraceMs: number
  /** A follower further behind than this is lagging, not just between two blocks. */
  readonly lagBlocks: number
}

const LEAST_PATIENCE_MS = 15_000
const LAG_BLOCKS = 20

export function limitsOf(settings: OperatorSettings): Limits {
  const { sweepIntervalMs, rebroadcastAfterMs, replaceAfterMs, leaseMs } = settings
  return {
    ...settings,
    workMs: Math.max(3 * sweepIntervalMs, LEAST_PATIENCE_MS),
    blockMs: Math.max(2 * replaceAfterMs, 2 * rebroadcastAfterMs),
    leaseGraceMs: 2 * leaseMs,
    lagBlocks: LAG_BLOCKS,
  }
}
