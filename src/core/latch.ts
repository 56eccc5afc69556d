/** Keeps a signal that arrives while nobody waits for it. For one waiter at a time. */
export type Latch = {
  readonly set: () => void
  /**
   * Resolves when the latch was set since the last wait, after `timeoutMs`, or when the signal aborts.
   *
   * @returns whether it was set
   */
  readonly wait: (timeoutMs: number, signal?: AbortSignal) => Promise<boolean>
}

export function createLatch(): Latch {
  let isSet = false
  let release: () => void = () => undefined
  return {
    set() {
      isSet = true
      release()
    },
    wait: (timeoutMs, signal) =>
      new Promise((resolve) => {
        release = () => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', release)
          release = () => undefined
          resolve(isSet)
          isSet = false
        }
        const timer = setTimeout(() => release(), timeoutMs)
        signal?.addEventListener('abort', release, { once: true })
        if (isSet || signal?.aborted) release()
      }),
  }
}
