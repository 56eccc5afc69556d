/** How long what may take before it counts as stuck. It follows from the settings: what is slow on purpose is not stuck. */

export type OperatorSettings = {
  readonly sweepIntervalMs: number
  readonly rebroadcastAfterMs: number
  readonly replaceAfterMs: number
  readonly leaseMs: number
  readonly maxInFlightPerLane: number
}

export type Limits = OperatorSettings & {
  /** For what a worker does at once: to sign, to send, to make a key. The sweeper has had three chances by then. */
  readonly workMs: number
  /** For a block to take what a node has: two rounds of paying more have passed. */
  readonly blockMs: number
  /** For what a lease that has run out is looked at: the next holder had the time to come. */
  readonly leaseGraceMs: number
  /** A follower further behind than this is not merely between two blocks. */
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
