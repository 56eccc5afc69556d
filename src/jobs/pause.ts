/** A wait that an abort signal ends. */
import { setTimeout as delay } from 'node:timers/promises'

/** Waits, or returns early when the signal aborts. Never throws. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { signal }).catch(() => undefined) // An abort ends the wait.
}
