/** A clock that runs only when a test says so; what is due runs in its order. */
import type { Clockwork } from '../../src/jobs/clockwork.ts'

export type SimulatedTime = Clockwork & {
  /** Lets this time pass, with all that becomes due in it and what follows from it. */
  readonly pass: (milliseconds: number) => Promise<void>
  /** Lets run what is due now. */
  readonly settle: () => Promise<void>
  /** How many calls are still to come. */
  readonly pending: () => number
}

type Call = { readonly at: number; readonly callback: () => void }

export function simulateTime(random: () => number = () => 0.5): SimulatedTime {
  let now = 0
  const calls = new Set<Call>()

  const settle = async () => {
    for (let turn = 0; turn < 3; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve))
  }

  async function pass(milliseconds: number): Promise<void> {
    const end = now + milliseconds
    await settle()
    for (;;) {
      const [next] = [...calls].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
      if (next === undefined) break
      calls.delete(next)
      now = Math.max(now, next.at)
      next.callback()
      await settle()
    }
    now = end
  }

  return {
    now: () => now,
    after(inMs, callback) {
      const call = { at: now + inMs, callback }
      calls.add(call)
      return () => calls.delete(call)
    },
    random,
    pass,
    settle,
    pending: () => calls.size,
  }
}
