/**
 * The pause of a poll that slows down while the log is quiet. An append by any process ends a slow pause at once, and the
 * poll is fast again for a while. A lost wake-up costs at most one slow interval.
 */
import { pause } from './lead.ts'
import type { WakeUps } from './wake-ups.ts'

export type QuietPause = {
  /** @param wasBusy the poll found something: the next pauses are short, as after an append */
  readonly pause: (signal: AbortSignal, wasBusy?: boolean) => Promise<void>
  readonly stop: () => void
}

export function createQuietPause(
  wakeUps: Pick<WakeUps, 'watch'>,
  intervals: {
    readonly intervalMs: number
    /** Not below `intervalMs`, which is used in its place then. */
    readonly quietIntervalMs: number
    /** How long the log must be quiet before the poll slows down. */
    readonly quietAfterMs: number
  },
): QuietPause {
  const { intervalMs, quietIntervalMs, quietAfterMs } = intervals
  const watch = wakeUps.watch()
  let stirredAt = performance.now()
  return {
    async pause(signal, wasBusy = false) {
      if (wasBusy) stirredAt = performance.now()
      const isQuiet = quietIntervalMs > intervalMs && performance.now() - stirredAt >= quietAfterMs
      if (!isQuiet) await pause(intervalMs, signal)
      if (await watch.wait(isQuiet ? quietIntervalMs : 0, signal)) stirredAt = performance.now()
    },
    stop: watch.stop,
  }
}
