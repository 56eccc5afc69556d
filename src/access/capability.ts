/** What access control does: it keeps the API keys. What authenticates requests is in `key-gate.ts`. */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { apiKeyAggregate } from './aggregate.ts'
import type { ApiKeyChanged, ApiKeyIssued } from './events.ts'
import { expiryTask } from './expire-keys.ts'
import { explainedApiKey } from './explained.ts'
import { keyLimitAggregate } from './limit-aggregate.ts'
import { LIVE_OF_TENANT } from './sql.ts'

const aggregate = anyAggregate(apiKeyAggregate)

export const access: Capability = {
  aggregates: [aggregate, anyAggregate(keyLimitAggregate)],
  async publishes() {
    const { publishedApiKeys, publishedLimits } = await import('./published.ts')
    return [publishedApiKeys, publishedLimits]
  },
  explains: [explainedApiKey],
  past: {
    passing: {
      ApiKeyIssued: ({ issuedBy, issuedAt: requestedAt }: ApiKeyIssued['data']) =>
        issuedBy === null ? [] : [{ is: 'api_key_change', requestedAt }],
      ApiKeyChanged: ({ changedAt: requestedAt }: ApiKeyChanged['data']) => [{ is: 'api_key_change', requestedAt }],
    },
  },
  tasks: [expiryTask],
  place: 85,
  routes: async () => (await import('./routes.ts')).apiKeyRoutes,
  usage: { api_keys: LIVE_OF_TENANT },
  verified: [{ table: 'api_keys', aggregate, streamOf: `'apikey-' || r.key_id` }],
}
