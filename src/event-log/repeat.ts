/** Repeats a task, the first time immediately; a failed run does not end the series. */
import { pause } from './lead.ts'

/** Resolves when the signal aborts. */
export async function repeat(
  task: () => Promise<unknown>,
  settings: {
    /** From the end of a run to the start of the next, in ms. */
    readonly intervalMs: number
    readonly signal: AbortSignal
    readonly onError: (error: unknown) => void
  },
): Promise<void> {
  const { intervalMs, signal, onError } = settings
  while (!signal.aborted) {
    try {
      await task()
    } catch (error) {
      onError(error)
    }
    await pause(intervalMs, signal)
  }
}
