/** What webhooks do: they keep where the events of tenants are sent. Their routes need the catalogue of all public events. */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { webhookAggregate } from './aggregate.ts'
import { explainedWebhook } from './explained.ts'
import { WEBHOOKS_OF_TENANT } from './sql.ts'

export const webhooks: Capability = {
  aggregates: [anyAggregate(webhookAggregate)],
  publishes: async () => [(await import('./published.ts')).publishedWebhooks],
  explains: [explainedWebhook],
  usage: { webhooks: WEBHOOKS_OF_TENANT },
}
