/** What access control does: it keeps the API keys. */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { apiKeyAggregate } from './aggregate.ts'
import { explainedApiKey } from './explained.ts'

const aggregate = anyAggregate(apiKeyAggregate)

export const access: Capability = {
  aggregates: [aggregate],
  publishes: async () => [(await import('./published.ts')).publishedApiKeys],
  explains: [explainedApiKey],
  verified: [{ table: 'api_keys', aggregate, streamOf: `'apikey-' || r.key_id` }],
}
