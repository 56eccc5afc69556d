/** The one bound and the one pause of everything that decides again after a concurrent write to the same stream. */
import { setTimeout as sleep } from 'node:timers/promises'
import { StreamConflict } from './commit.ts'

/** An attempt that loses the race to another process each time fails after this many. */
const MAX_TRIES = 50
const LONGEST_PAUSE_MS = 40

export type RepeatOptions = {
  /** Whether to repeat after this error; by default after StreamConflict. */
  readonly isConflict?: ((error: unknown) => boolean) | undefined
  /** Passed in where time is simulated; by default a random time of up to 40 ms. */
  readonly pause?: (() => Promise<void>) | undefined
}

/**
 * Repeats an attempt after a conflict, with a short random pause.
 *
 * @param attempt decides on the current state, and appends
 * @throws any other error of the attempt; after 50 attempts the conflict itself
 */
export async function repeatOnConflict<T>(
  attempt: () => Promise<T>,
  { isConflict = isStreamConflict, pause = pauseAtRandom }: RepeatOptions = {},
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (!isConflict(error) || tries >= MAX_TRIES) throw error
      await pause()
    }
  }
}

function pauseAtRandom(): Promise<void> {
  return sleep(Math.random() * LONGEST_PAUSE_MS)
}

export function isStreamConflict(error: unknown): boolean {
  return error instanceof StreamConflict
}
