/** What access control does: it keeps the API keys. */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { apiKeyAggregate } from './aggregate.ts'

const aggregate = anyAggregate(apiKeyAggregate)

export const access: Capability = {
  aggregates: [aggregate],
  verified: [{ table: 'api_keys', aggregate, streamOf: `'apikey-' || r.key_id` }],
}
