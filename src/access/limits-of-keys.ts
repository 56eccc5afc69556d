/** The limits of what API keys spend, read from their events at most once a second: a change is effective within a second, as all of a key. */

import { spendLimitsOf } from '../core/key-limits.ts'
import { apiKeyOf } from '../core/messages.ts'
import type { SpendLimit } from '../core/spend-limits.ts'
import type { EventLog } from '../event-log/log.ts'
import { remembering } from '../event-log/remembered.ts'
import { apiKeyAggregate } from './aggregate.ts'
import type { LimitReports } from './report-limits.ts'

const REMEMBER_MS = 1_000
const MAX_REMEMBERED = 10_000

export type LimitsOfKeys = {
  /** @param actor of the metadata of a request; nobody but a key has limits */
  readonly of: (actor: string) => Promise<readonly SpendLimit[]>
  /** Makes the next request of this key read them. */
  readonly forget: (keyId: string) => void
}

export function createLimitsOfKeys(log: Pick<EventLog, 'load'>): LimitsOfKeys {
  const known = remembering<readonly SpendLimit[]>({ most: MAX_REMEMBERED, ms: REMEMBER_MS })

  async function read(keyId: string): Promise<readonly SpendLimit[]> {
    const { state } = await log.load(apiKeyAggregate, keyId)
    return state.status === 'unknown' ? [] : spendLimitsOf(state.limits)
  }

  return {
    of(actor) {
      const keyId = apiKeyOf(actor)
      return keyId === null ? Promise.resolve([]) : known.of(keyId, () => read(keyId))
    },
    forget: known.forget,
  }
}

declare module '../api-context.ts' {
  interface ApiParts {
    readonly access: { readonly limitsOfKeys: LimitsOfKeys; readonly limitReports: LimitReports }
  }
}
