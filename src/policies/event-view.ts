/** Events of policies in the form of public events: each follows from its event alone. */
import type { Environment } from '../core/networks.ts'
import { assertNever } from '../core/never.ts'
import type { View } from '../http/view.ts'
import type { Refusal } from './decide.ts'
import type { PolicyRefused } from './denial-events.ts'
import type { policyEventSchema, refusalSchema } from './event-schemas.ts'
import type { PolicyEvent, PolicyPublished } from './events.ts'

/** `null` for a draft, which is not told. */
export function eventView(environment: Environment, event: PolicyEvent): View<typeof policyEventSchema> | null {
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

export function refusalView(data: PolicyRefused['data']): View<typeof refusalSchema> {
  const { environment, version, shadow, rule, reason, apiKey, walletId, count, firstAt, lastAt } = data
  return {
    ...{ environment, version, shadow, rule, reason: reason as Refusal['reason'] },
    ...{ key_id: apiKey, wallet_id: walletId, count, first_at: firstAt, last_at: lastAt },
  }
}
