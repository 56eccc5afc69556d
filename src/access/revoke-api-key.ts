/**
 * Revokes an API key permanently. Processes that have it cached refuse it within a second, or immediately when
 * notified.
 */
import type { Metadata } from '../core/messages.ts'
import type { EventLog } from '../event-log/log.ts'
import { apiKeyAggregate } from './aggregate.ts'
import { noSuchApiKey } from './decider.ts'

/**
 * Revoking a revoked key changes nothing.
 *
 * @param owner the requesting tenant; omitted by an operator, who may revoke any key
 * @throws NotFound `api_key_not_found`, also for a key of another tenant; Unavailable
 */
export type RevokeApiKey = (
  keyId: string,
  context: Pick<Metadata, 'actor' | 'correlationId'> & { readonly owner?: string },
) => Promise<{ readonly keyId: string; readonly tenantId: string; readonly revokedAt: string }>

export function createRevokeApiKey({ log }: { readonly log: EventLog }): RevokeApiKey {
  return async (keyId, { owner, ...context }) => {
    const { state } = await log.load(apiKeyAggregate, keyId)
    if (state.status === 'unknown' || (owner !== undefined && owner !== state.tenantId)) throw noSuchApiKey()
    const { tenantId } = state
    const now = log.now()
    const metadata = { ...context, tenantId }
    const after = await log.execute(
      apiKeyAggregate,
      keyId,
      { type: 'RevokeApiKey', reason: 'requested', now },
      { metadata },
    )
    return { keyId, tenantId, revokedAt: after.status === 'revoked' ? (after.revokedAt ?? now) : now }
  }
}
