/** The limits of what API keys spend, read from their events at most once a second: a change is effective within a second, as all of a key. */
import { LRUCache } from 'lru-cache'
import { spendLimitsOf } from '../core/key-limits.ts'
import { apiKeyOf } from '../core/messages.ts'
import type { SpendLimit } from '../core/spend-limits.ts'
import type { EventLog } from '../event-log/log.ts'
import { apiKeyAggregate } from './aggregate.ts'

const REMEMBER_MS = 1_000
const MAX_REMEMBERED = 10_000

export type LimitsOfKeys = {
  /** @param actor of the metadata of a request; nobody but a key has limits */
  readonly of: (actor: string) => Promise<readonly SpendLimit[]>
  /** Makes the next request of this key read them. */
  readonly forget: (keyId: string) => void
}

export function createLimitsOfKeys(log: Pick<EventLog, 'load'>): LimitsOfKeys {
  const known = new LRUCache<string, Promise<readonly SpendLimit[]>>({ max: MAX_REMEMBERED, ttl: REMEMBER_MS })

  async function read(keyId: string): Promise<readonly SpendLimit[]> {
    const { state } = await log.load(apiKeyAggregate, keyId)
    return state.status === 'unknown' ? [] : spendLimitsOf(state.limits)
  }

  return {
    of(actor) {
      const keyId = apiKeyOf(actor)
      if (keyId === null) return Promise.resolve([])
      const remembered = known.get(keyId)
      if (remembered !== undefined) return remembered
      const limits = read(keyId)
      known.set(keyId, limits)
      limits.catch(() => known.delete(keyId))
      return limits
    },
    forget: (keyId) => void known.delete(keyId),
  }
}
