/** What happens to the policy of a tenant as public events, and what it refuses. Rules are read with GET /v1/policies/versions/{version}. */
import { publishedAlone } from '../capability.ts'
import { ALL_SCOPES } from '../core/scopes.ts'
import { policyAggregate, policyStreamOf } from './aggregate.ts'
import { policyDenialAggregate } from './denial-aggregate.ts'
import { policyEventSchema, refusalSchema } from './event-schemas.ts'
import { eventView, refusalView } from './event-view.ts'

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
