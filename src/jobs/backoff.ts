/** Retry delays: exponential, capped, with full jitter, so that tasks that failed together do not retry together. */

export type RetryPolicy = {
  /** Total tries, including the first. */
  readonly attempts: number
  /** Maximum delay after the first failure, in ms; doubles with each further failure. */
  readonly baseMs: number
  /** Upper bound of a delay, in ms. */
  readonly capMs: number
}

/**
 * 250 ms bridges a dropped connection; 10 s is as long as a user should wait after a node is back; 8 tries span about
 * 20 s, after which an operator should see the job. The sweeper still queues it again while there is work.
 */
export const DEFAULT_RETRIES: RetryPolicy = { attempts: 8, baseMs: 250, capMs: 10_000 }

/**
 * The delay before the next try, in whole ms, at least 1: uniform between 0 and the exponential bound ("full jitter":
 * Brooker, Exponential Backoff And Jitter, AWS 2015).
 *
 * @param failures so far, 1 after the first
 * @param random in [0, 1)
 */
export function backoffMs(policy: RetryPolicy, failures: number, random: number): number {
  const bound = Math.min(policy.capMs, policy.baseMs * 2 ** (failures - 1))
  return Math.max(1, Math.floor(random * bound))
}
