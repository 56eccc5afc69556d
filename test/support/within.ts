/** Gives up on what should have come true long ago, and says what it was. */
import { setTimeout as delay } from 'node:timers/promises'

/** @throws Error that names what did not come true in time */
export async function within<T>(what: string, ms: number, promise: Promise<T>): Promise<T> {
  const done = new AbortController()
  const late = delay(ms, undefined, { signal: done.signal }).then(
    () => {
      throw new Error(`not in ${ms / 1_000} s: ${what}`)
    },
    () => new Promise<never>(() => undefined), // It came true first: nobody listens any more.
  )
  try {
    return await Promise.race([promise, late])
  } finally {
    done.abort()
  }
}
