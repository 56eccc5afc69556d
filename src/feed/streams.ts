/** Counts open event streams. A process has room for a limited number, and one key cannot take all of it. */
import { BursarError } from '../core/errors.ts'

const MOST_OF_KEY = 20
const MOST_OF_PROCESS = 1_000

/** The key or the process has as many streams as it may have. */
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

export function createStreams(limits = { ofKey: MOST_OF_KEY, ofProcess: MOST_OF_PROCESS }): Streams {
  const ofKeys = new Map<string, number>()
  let count = 0
  return {
    count: () => count,
    open(keyId) {
      const own = ofKeys.get(keyId) ?? 0
      if (own >= limits.ofKey)
        throw new TooManyStreams(`The API key has ${own} open event streams: close one of them, or read pages.`)
      if (count >= limits.ofProcess)
        throw new TooManyStreams(`The process has ${count} open event streams: try again later, or read pages.`)
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
