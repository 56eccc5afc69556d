/** Fails when something takes far too long, naming what was awaited. */
import { setTimeout as delay } from 'node:timers/promises'

/** Only ends a hanging run, even on a very busy machine: far more than any working step takes. */
export const HANGS_AFTER_MS = 600_000

/** @throws Error that names what did not complete in time */
export async function within<T>(what: string, promise: Promise<T>): Promise<T> {
  const done = new AbortController()
  const late = delay(HANGS_AFTER_MS, undefined, { signal: done.signal }).then(
    () => {
      throw new Error(`not in ${HANGS_AFTER_MS / 1_000} s: ${what}`)
    },
    () => new Promise<never>(() => undefined), // It completed first: the result is not used.
  )
  try {
    return await Promise.race([promise, late])
  } finally {
    done.abort()
  }
}
