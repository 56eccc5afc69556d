/** Revokes an API key permanently: in this process at once, in others within a second (`authenticate.ts`). */
import type { Context } from '../context.ts'
import type { Metadata } from '../core/messages.ts'
import type { Owner } from '../core/tenants.ts'
import { apiKeyAggregate } from './aggregate.ts'
import { noSuchApiKey } from './decider.ts'
import type { RevocationReason } from './events.ts'

/**
 * Revoking a revoked key changes nothing.
 *
 * @param ctx whose `forgetKey` makes this process see it at once; an operator's command has none
 * @param context its owner is the requesting tenant, in the environment of its key; omitted by an operator, who may revoke
 *   any key. The reason is `requested` by default
 * @throws NotFound `api_key_not_found`, also for a key of another owner; Unavailable
 */
export async function revokeApiKey(
  { log, forgetKey }: Pick<Context, 'log'> & { readonly forgetKey?: (keyId: string) => void },
  keyId: string,
  {
    owner,
    reason = 'requested',
    ...context
  }: Pick<Metadata, 'actor' | 'correlationId'> & { readonly owner?: Owner; readonly reason?: RevocationReason },
): Promise<{ readonly keyId: string; readonly tenantId: string; readonly revokedAt: string }> {
  const { state } = await log.load(apiKeyAggregate, keyId)
  if (state.status === 'unknown') throw noSuchApiKey()
  const { tenantId, environment } = state
  if (owner !== undefined && (owner.tenantId !== tenantId || owner.environment !== environment)) throw noSuchApiKey()
  const now = log.now()
  const metadata = { ...context, tenantId }
  const after = await log.execute(apiKeyAggregate, keyId, { type: 'RevokeApiKey', reason, now }, { metadata })
  forgetKey?.(keyId)
  return { keyId, tenantId, revokedAt: after.status === 'revoked' ? (after.revokedAt ?? now) : now }
}
