/** Time and chance, which a simulation replaces. */
export type Clockwork = {
  /** A monotonic clock, ms. */
  readonly now: () => number
  /** Calls back after this time. Returns a function that cancels the call. */
  readonly after: (milliseconds: number, callback: () => void) => () => void
  /** In [0, 1). */
  readonly random: () => number
}

export const REAL_TIME: Clockwork = {
  now: () => performance.now(),
  after(milliseconds, callback) {
    // What is left to do later keeps no process alive.
    const timer = setTimeout(callback, milliseconds).unref()
    return () => clearTimeout(timer)
  },
  random: Math.random,
}
