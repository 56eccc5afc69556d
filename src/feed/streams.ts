/**
 * Counts the readers that wait for events: open event streams, and requests with `wait`. A process has room for a limited
 * number, and one key cannot take all of it.
 */
import { BursarError } from '../core/errors.ts'

/** The key or the process has as many readers as it may have. */
class TooManyStreams extends BursarError {
  override readonly type = 'rate_limit_error'
  override readonly code = 'too_many_streams'
  override readonly retryable = true
}

export type Streams = {
  /** Counts one more until the returned function is called. @throws TooManyStreams */
  readonly open: (keyId: string) => () => void
  readonly count: () => number
}

export function createStreams(limits: { readonly ofKey: number; readonly ofProcess: number }): Streams {
  const ofKeys = new Map<string, number>()
  let count = 0
  return {
    count: () => count,
    open(keyId) {
      const own = ofKeys.get(keyId) ?? 0
      if (own >= limits.ofKey)
        throw new TooManyStreams(
          `The API key has ${own} event streams and waiting requests, the most that it can have: close one of them, read pages without wait, or ask the operator for a higher MAX_EVENT_STREAMS_PER_KEY.`,
        )
      if (count >= limits.ofProcess)
        throw new TooManyStreams(
          `The process has ${count} event streams and waiting requests, the most that it can have: try again later, or read pages without wait.`,
        )
      ofKeys.set(keyId, own + 1)
      count += 1
      let isOpen = true
      return () => {
        if (!isOpen) return
        isOpen = false
        count -= 1
        const left = (ofKeys.get(keyId) ?? 1) - 1
        if (left === 0) ofKeys.delete(keyId)
        else ofKeys.set(keyId, left)
      }
    },
  }
}
