/**
 * Webhooks, and deliveries that were given up, as public events. They contain no secret. A delivery that succeeds causes no
 * event, and one of `webhook.delivery_failed` none at all, so that no event causes itself.
 */
import { published, publishedAlone } from '../capability.ts'
import { projectChange } from '../event-log/project-stream.ts'
import { webhookAggregate } from './aggregate.ts'
import { deliveryAggregate } from './delivery-aggregate.ts'
import { deliveryAtEventSchema } from './delivery-schemas.ts'
import { webhookAtEventSchema } from './schemas.ts'
import { DELIVERY_FAILED } from './sql.ts'
import { atEvent, type WebhookRow } from './view.ts'

export const publishedWebhooks = published(webhookAggregate, {
  resource: 'webhook',
  scope: 'webhooks:read',
  types: {
    'webhook.created': 'A webhook was created.',
    'webhook.updated': 'The URL, the description, the filters or the payload of a webhook changed.',
    'webhook.secret_rotated': 'A webhook got a new secret.',
    'webhook.disabled':
      'A webhook was disabled: by a request, by its receiver, or because nothing succeeded for five days.',
    'webhook.enabled': 'A webhook was enabled again.',
    'webhook.deleted': 'A webhook was deleted.',
    'webhook.test': 'The test of a webhook. It is sent to this webhook alone, whatever its filters.',
    'webhook.replay_requested': 'A replay of events to a webhook was requested.',
  },
  events: {
    WebhookCreated: ['webhook.created'],
    WebhookChanged: ['webhook.updated'],
    WebhookSecretRotated: ['webhook.secret_rotated'],
    WebhookDisabled: ['webhook.disabled'],
    WebhookEnabled: ['webhook.enabled'],
    WebhookDeleted: ['webhook.deleted'],
    WebhookTested: ['webhook.test'],
    WebhookReplayRequested: ['webhook.replay_requested'],
  },
  schema: webhookAtEventSchema,
  render(source) {
    const [row] = projectChange(webhookAggregate, source, 'webhooks')
    return row === undefined ? null : { resourceId: source.id, data: atEvent(row as WebhookRow) }
  },
})

export const publishedDeliveries = publishedAlone(deliveryAggregate, {
  resource: 'webhook_delivery',
  scope: 'webhooks:read',
  types: {
    [DELIVERY_FAILED]:
      'A delivery to a webhook was given up after its last attempt: its receiver has not got the event.',
  },
  events: { WebhookDeliveryGivenUp: [DELIVERY_FAILED] },
  schema: deliveryAtEventSchema,
  render({ id, event: { data } }) {
    const { lastAttempt: last } = data
    return {
      resourceId: id,
      data: {
        delivery_id: id,
        webhook_id: data.webhookId,
        event_id: data.eventId,
        type: data.eventType,
        replay_id: data.replayId,
        attempts: data.attempts,
        last_attempt: last === null ? null : { at: last.at, status: last.status, error: last.error },
        failed_at: data.givenUpAt,
      },
    }
  },
})
