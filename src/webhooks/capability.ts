/** What webhooks do: they keep where the events of tenants are sent. */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { webhookAggregate } from './aggregate.ts'
import { deliveryAggregate } from './delivery-aggregate.ts'
import { explainedDelivery, explainedWebhook } from './explained.ts'
import { WEBHOOKS_OF_TENANT } from './sql.ts'

export const webhooks: Capability = {
  aggregates: [anyAggregate(webhookAggregate), anyAggregate(deliveryAggregate)],
  async publishes() {
    const { publishedDeliveries, publishedWebhooks } = await import('./published.ts')
    return [publishedWebhooks, publishedDeliveries]
  },
  explains: [explainedWebhook, explainedDelivery],
  usage: { webhooks: WEBHOOKS_OF_TENANT },
  forOperators: () => import('./for-operators.ts'),
  place: 80,
  routes: async () => (await import('./delivery-routes.ts')).webhookApi,
}
