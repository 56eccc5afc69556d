/** Revokes an API key permanently: in this process at once, in others within a second (`authenticate.ts`). */
import type { Metadata } from '../core/messages.ts'
import type { Owner } from '../core/tenants.ts'
import type { EventLog } from '../event-log/log.ts'
import { apiKeyAggregate } from './aggregate.ts'
import { noSuchApiKey } from './decider.ts'
import type { RevocationReason } from './events.ts'

/**
 * Revoking a revoked key changes nothing.
 *
 * @param owner the requesting tenant, in the environment of its key; omitted by an operator, who may revoke any key
 * @throws NotFound `api_key_not_found`, also for a key of another owner; Unavailable
 */
export type RevokeApiKey = (
  keyId: string,
  context: Pick<Metadata, 'actor' | 'correlationId'> & {
    readonly owner?: Owner
    /** Default: `requested`. */
    readonly reason?: RevocationReason
  },
) => Promise<{ readonly keyId: string; readonly tenantId: string; readonly revokedAt: string }>

export function createRevokeApiKey({
  log,
  forget = () => undefined,
}: {
  readonly log: EventLog
  readonly forget?: (keyId: string) => void
}): RevokeApiKey {
  return async (keyId, { owner, reason = 'requested', ...context }) => {
    const { state } = await log.load(apiKeyAggregate, keyId)
    if (state.status === 'unknown') throw noSuchApiKey()
    const { tenantId, environment } = state
    if (owner !== undefined && (owner.tenantId !== tenantId || owner.environment !== environment)) throw noSuchApiKey()
    const now = log.now()
    const metadata = { ...context, tenantId }
    const after = await log.execute(apiKeyAggregate, keyId, { type: 'RevokeApiKey', reason, now }, { metadata })
    forget(keyId)
    return { keyId, tenantId, revokedAt: after.status === 'revoked' ? (after.revokedAt ?? now) : now }
  }
}
