/** Publishes policies: over HTTP as a client does, and without the routes for a test that forges what the API appends. */
import type { Policy } from '../../src/core/policy.ts'
import type { Owner } from '../../src/core/tenants.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { policyAggregate, policyStreamOf } from '../../src/policies/aggregate.ts'
import type { PolicyCommand } from '../../src/policies/decider.ts'
import { policyHash } from '../../src/policies/manage-policies.ts'
import { accepted, type Client } from './client.ts'

type OverHttp = { readonly lists?: object; readonly default?: 'allow' | 'deny'; readonly isShadow?: boolean }

/**
 * Drafts these rules, makes them the shadow, waits until it is seeded, and publishes it.
 *
 * @param isShadow it stays the shadow
 * @returns the version. @throws Error when a request is refused
 */
export async function publishOver(api: Client, rules: readonly object[], more: OverHttp = {}): Promise<number> {
  const { isShadow = false, ...others } = more
  const ask = async (method: 'GET' | 'PUT' | 'POST', path: string, body?: object) =>
    accepted(await api.insist({ method, path, body }))
  const { draft } = await ask('GET', '/v1/policies')
  const policy = { default: 'allow', rules, ...others }
  const { revision } = (await ask('PUT', '/v1/policies', { revision: draft?.revision ?? 0, policy })).draft
  const { version } = (await ask('POST', '/v1/policies/shadow', { revision })).shadow
  await api.until('/v1/policies', ({ shadow }) => shadow.seeded)
  if (!isShadow) await ask('POST', '/v1/policies/publish', { version })
  return version
}

/** Without routes. @returns the version */
export async function publishTo(log: EventLog, owner: Owner, policy: Policy): Promise<number> {
  const id = policyStreamOf(owner)
  const { state } = await log.load(policyAggregate, id)
  const revision = state.status === 'unknown' ? 0 : state.draft.revision
  const context = { metadata: { tenantId: owner.tenantId, actor: 'apikey:key_1' } }
  const run = (command: PolicyCommand) => log.execute(policyAggregate, id, command, context)
  const by = { by: 'key_1', now: log.now() }
  await run({ type: 'DraftPolicy', ...owner, revision, policy, note: null, ...by })
  const parts = { hash: policyHash(policy), basis: 'counted', uncounted: [], locksOut: false, forced: null } as const
  const after = await run({ type: 'PublishPolicy', source: { revision: revision + 1 }, ...parts, ...by })
  if (after.status === 'unknown' || after.active === null) throw new Error('the policy was not published')
  return after.active.version
}
