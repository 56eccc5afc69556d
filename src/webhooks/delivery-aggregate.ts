/** The stream of a delivery: an event for each time that it was given up, and no rows. Pure. */
import type { Aggregate } from '../event-log/aggregate.ts'
import type { WebhookDeliveryEvent } from './delivery-events.ts'

/** @property attempts those after which it was given up last; 0 before that */
type DeliveryState = { readonly attempts: number }

type DeliveryCommand = { readonly type: 'GiveUp'; readonly delivery: WebhookDeliveryEvent['data'] }

export const deliveryAggregate: Aggregate<DeliveryState, DeliveryCommand, WebhookDeliveryEvent> = {
  category: 'delivery',
  schemas: { WebhookDeliveryGivenUp: { version: 1, upcasters: [] } },
  initialState: { attempts: 0 },
  decide: ({ delivery }, { attempts }) =>
    delivery.attempts > attempts ? [{ type: 'WebhookDeliveryGivenUp', data: delivery }] : [],
  evolve: (_state, { data }) => ({ attempts: data.attempts }),
  project: () => ({ rows: [], holds: [] }),
}
