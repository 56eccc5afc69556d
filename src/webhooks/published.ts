/** Webhooks as public events. They contain no secret. A delivery causes no event, so that none causes another. */
import { published } from '../capability.ts'
import { projectChange } from '../event-log/project-stream.ts'
import { webhookAggregate } from './aggregate.ts'
import { webhookAtEventSchema } from './schemas.ts'
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
