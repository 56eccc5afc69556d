/** A poll slows down while the log is quiet, and an append ends a slow pause. */
import t from 'tap'
import { createQuietPause } from '../../src/event-log/quiet-pause.ts'

/** The waits that a poll asked for, in ms; each ends with or without a wake-up, as given. */
function pausing(wakeUps: readonly boolean[], quietAfterMs: number) {
  const waits: number[] = []
  const ends = [...wakeUps]
  const watch = {
    wait: async (timeoutMs: number) => {
      waits.push(timeoutMs)
      return ends.shift() ?? false
    },
    stop: () => undefined,
  }
  const intervals = { intervalMs: 1, quietIntervalMs: 900, quietAfterMs }
  return { waits, ...createQuietPause({ watch: () => watch }, intervals) }
}

t.test('while the log was written to lately, a poll is fast', async (t) => {
  const { waits, pause } = pausing([], 3_600_000)
  const { signal } = new AbortController()
  await pause(signal)
  await pause(signal)
  t.strictSame(waits, [0, 0])
})

t.test('while the log is quiet, a poll is slow, until a wake-up', async (t) => {
  const { waits, pause } = pausing([false, true], 20)
  const { signal } = new AbortController()
  await pause(signal, true)
  while (waits.at(-1) !== 900) await pause(signal)
  const fast = waits.filter((ms) => ms === 0).length
  t.ok(fast >= 1, 'a poll that found something is followed by fast ones')
})

t.test('a wake-up during a slow pause makes the next polls fast', async (t) => {
  const { waits, pause } = pausing([true, false], 0)
  const { signal } = new AbortController()
  await pause(signal)
  t.strictSame(waits, [900])
})
