/** Publishes a policy without its routes: a test that forges what the API appends needs none. */
import type { Policy } from '../../src/core/policy.ts'
import type { Owner } from '../../src/core/tenants.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { policyAggregate, policyStreamOf } from '../../src/policies/aggregate.ts'
import type { PolicyCommand } from '../../src/policies/decider.ts'
import { policyHash } from '../../src/policies/manage-policies.ts'

/** @returns the version */
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
