/** Gives up on what should have come true long ago, and says what it was. */
import { setTimeout as delay } from 'node:timers/promises'

/** Only ends a run that hangs, on the busiest of machines: far more than anything takes that works. */
export const HANGS_AFTER_MS = 600_000

/** @throws Error that names what did not come true in time */
export async function within<T>(what: string, promise: Promise<T>): Promise<T> {
  const done = new AbortController()
  const late = delay(HANGS_AFTER_MS, undefined, { signal: done.signal }).then(
    () => {
      throw new Error(`not in ${HANGS_AFTER_MS / 1_000} s: ${what}`)
    },
    () => new Promise<never>(() => undefined), // It came true first: nobody listens any more.
  )
  try {
    return await Promise.race([promise, late])
  } finally {
    done.abort()
  }
}
