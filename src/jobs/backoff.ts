/** When to try again: exponential, capped, with full jitter, so that what failed together does not come back together. */

export type RetryPolicy = {
  /** Tries in all, the first included. */
  readonly attempts: number
  /** Longest wait after the first failure, in ms; doubles with each further one. */
  readonly baseMs: number
  /** No wait is longer than this, in ms. */
  readonly capMs: number
}

/**
 * 250 ms rides out a dropped connection; 10 s is as long as a user should wait after a node is back; 8 tries spread over
 * some 20 s, after which an operator should see the job, and the sweeper still brings it back while there is work.
 */
export const DEFAULT_RETRIES: RetryPolicy = { attempts: 8, baseMs: 250, capMs: 10_000 }

/**
 * The wait before the next try, in whole ms, at least 1: uniform between 0 and the exponential bound ("full jitter":
 * Brooker, Exponential Backoff And Jitter, AWS 2015).
 *
 * @param failures so far, 1 after the first
 * @param random in [0, 1)
 */
export function backoffMs(policy: RetryPolicy, failures: number, random: number): number {
  const bound = Math.min(policy.capMs, policy.baseMs * 2 ** (failures - 1))
  return Math.max(1, Math.floor(random * bound))
}
