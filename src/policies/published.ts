/** What happens to the policy of a tenant as public events, and what it refuses. Rules are read with GET /v1/policies/versions/{version}. */
import { publishedAlone } from '../capability.ts'
import type { Environment } from '../core/networks.ts'
import { assertNever } from '../core/never.ts'
import { ALL_SCOPES } from '../core/scopes.ts'
import type { View } from '../http/view.ts'
import { policyAggregate, policyDenialAggregate, policyStreamOf } from './aggregate.ts'
import type { Refusal } from './decide.ts'
import { policyEventSchema, refusalSchema } from './event-schemas.ts'
import type { PolicyEvent, PolicyPublished, PolicyRefused } from './events.ts'

/** The resource is the policy of an environment, whose name is its id. */
export const publishedPolicies = publishedAlone(policyAggregate, {
  resource: 'policy',
  scope: ['policies:read', ALL_SCOPES],
  types: {
    'policy.shadowed': 'A draft became the shadow: it judges every request, counts and reports, and denies nothing.',
    'policy.seeded': 'What was spent before the shadow was added up: it can be published.',
    'policy.shadow_ended': 'The shadow ended without being published.',
    'policy.published': 'A version became the active policy.',
  },
  events: {
    PolicyDrafted: [],
    PolicyShadowed: ['policy.shadowed'],
    PolicySeeded: ['policy.seeded'],
    PolicyShadowEnded: ['policy.shadow_ended'],
    PolicyPublished: ['policy.published'],
  },
  schema: policyEventSchema,
  mayConcern: (id, environment) => id.endsWith(`-${environment}`),
  streamOf: (environment, tenantId) => `${tenantId}-${environment}`,
  render({ id, tenantId, event }) {
    const environment = id === policyStreamOf({ tenantId, environment: 'testnet' }) ? 'testnet' : 'mainnet'
    const data = eventView(environment, event)
    return data === null ? null : { resourceId: environment, data }
  },
})

export const publishedRefusals = publishedAlone(policyDenialAggregate, {
  resource: 'policy_refusal',
  scope: ['policies:read', ALL_SCOPES],
  types: {
    'policy.refused':
      'The policy refused requests, or the shadow would have. Reported at most once a minute for each rule, API key and version, with their number.',
  },
  events: { PolicyRefused: ['policy.refused'] },
  schema: refusalSchema,
  render: ({ id, event: { data } }) => ({ resourceId: id, data: refusalView(data) }),
})

/** `null` for a draft, which is not told. */
function eventView(environment: Environment, event: PolicyEvent): View<typeof policyEventSchema> | null {
  switch (event.type) {
    case 'PolicyDrafted':
      return null
    case 'PolicyShadowed': {
      const { version, shadowedAt: at, shadowedBy: by } = event.data
      return { environment, version, at, by, ...rulesOf(event.data) }
    }
    case 'PolicySeeded':
      return { environment, version: event.data.version, at: event.data.seededAt, by: null }
    case 'PolicyShadowEnded':
      return { environment, version: event.data.version, at: event.data.endedAt, by: event.data.endedBy }
    case 'PolicyPublished': {
      const { version, publishedAt: at, publishedBy: by, previousVersion, basis, forced } = event.data
      const published = { previous_version: previousVersion, counting_basis: basis, forced }
      return { environment, version, at, by, ...rulesOf(event.data), ...published }
    }
    default:
      return assertNever(event)
  }
}

function rulesOf({ revision, hash, policy }: Pick<PolicyPublished['data'], 'revision' | 'hash' | 'policy'>) {
  return { draft_revision: revision, hash, rules: policy.rules.length }
}

function refusalView(data: PolicyRefused['data']): View<typeof refusalSchema> {
  const { environment, version, shadow, rule, reason, apiKey, walletId, count, firstAt, lastAt } = data
  return {
    ...{ environment, version, shadow, rule, reason: reason as Refusal['reason'] },
    ...{ key_id: apiKey, wallet_id: walletId, count, first_at: firstAt, last_at: lastAt },
  }
}
