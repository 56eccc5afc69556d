/**
 * Counts the readers that wait for events: open event streams, and requests with `wait`. A process has room for a limited
 * number, and neither one key nor all keys of one tenant can take all of it.
 */
import { BursarError } from '../core/errors.ts'

/** Of those of a process, so much at most is for one tenant. */
const OF_TENANT = 7 / 8

/** The key, the tenant or the process has as many readers as it may have. */
class TooManyStreams extends BursarError {
  override readonly type = 'rate_limit_error'
  override readonly code = 'too_many_streams'
  override readonly retryable = true
}

export type Streams = {
  /** Counts one more until the returned function is called. @throws TooManyStreams */
  readonly open: (of: { readonly keyId: string; readonly tenantId: string }) => () => void
  readonly count: () => number
}

export function createStreams(limits: { readonly ofKey: number; readonly ofProcess: number }): Streams {
  const ofKeys = new Map<string, number>()
  const ofTenants = new Map<string, number>()
  let count = 0
  return {
    count: () => count,
    open({ keyId, tenantId }) {
      const own = ofKeys.get(keyId) ?? 0
      const ofTenant = ofTenants.get(tenantId) ?? 0
      if (own >= limits.ofKey)
        throw new TooManyStreams(
          `The API key has ${own} event streams and waiting requests, the most that it can have: close one of them, read pages without wait, or ask the operator for a higher MAX_EVENT_STREAMS_PER_KEY.`,
        )
      if (count >= limits.ofProcess)
        throw new TooManyStreams(
          `The process has ${count} event streams and waiting requests, the most that it can have: try again later, or read pages without wait.`,
        )
      if (ofTenant >= limits.ofProcess * OF_TENANT)
        throw new TooManyStreams(
          `Your API keys have ${ofTenant} event streams and waiting requests at this process, the most that they can have together: close one of them, or read pages without wait.`,
        )
      add(ofKeys, keyId, 1)
      add(ofTenants, tenantId, 1)
      count += 1
      let isOpen = true
      return () => {
        if (!isOpen) return
        isOpen = false
        count -= 1
        add(ofKeys, keyId, -1)
        add(ofTenants, tenantId, -1)
      }
    },
  }
}

function add(counts: Map<string, number>, name: string, change: 1 | -1): void {
  const sum = (counts.get(name) ?? 0) + change
  if (sum === 0) counts.delete(name)
  else counts.set(name, sum)
}
