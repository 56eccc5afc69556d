/** How `explain` reports a webhook, and a delivery that was given up. */
import { explained } from '../capability.ts'
import { webhookAggregate } from './aggregate.ts'
import { deliveryAggregate } from './delivery-aggregate.ts'
import type { WebhookDeliveryEvent } from './delivery-events.ts'
import type { DisableReason } from './events.ts'

const REASONS: Readonly<Record<DisableReason, string>> = {
  gone: 'its receiver answered 410',
  failing: 'no delivery succeeded for five days',
  requested: 'by a request',
}

export const explainedWebhook = explained(webhookAggregate, {
  prefix: 'whk',
  noun: 'webhook',
  texts: {
    WebhookCreated: ({ url, types, environment }) =>
      `created for ${url}, ${environment}, ${types === null ? 'all types' : types.join(', ')}`,
    WebhookChanged: ({ url, types }) => `changed: ${url}, ${types === null ? 'all types' : types.join(', ')}`,
    WebhookSecretRotated: ({ secretId, overlapEndsAt }) =>
      `secret rotated to ${secretId}; the secrets before it sign until ${overlapEndsAt}`,
    WebhookDisabled: ({ reason }) => `disabled: ${REASONS[reason]}`,
    WebhookEnabled: () => 'enabled',
    WebhookDeleted: () => 'deleted',
    WebhookTested: () => 'test requested',
    WebhookReplayRequested({ replayId, after, from, to, types, onlyFailed }) {
      const what = `${onlyFailed ? 'failed deliveries of ' : ''}${types === null ? 'all types' : types.join(', ')}`
      const start = after === null ? `from ${from ?? 'the oldest event'}` : `after ${after}`
      return `replay ${replayId} requested: ${what}, ${start}, before ${to ?? 'the request'}`
    },
  },
})

export const explainedDelivery = explained(deliveryAggregate, {
  prefix: 'dlv',
  noun: 'delivery',
  texts: {
    WebhookDeliveryGivenUp: ({ webhookId, eventId, eventType, attempts, lastAttempt }) =>
      `given up after ${attempts} attempts: ${eventType} ${eventId} to ${webhookId}; ${outcomeOf(lastAttempt)}`,
  },
})

function outcomeOf(last: WebhookDeliveryEvent['data']['lastAttempt']): string {
  return last === null ? 'no attempt is known' : `the last one: ${last.status ?? last.error ?? 'no response'}`
}
