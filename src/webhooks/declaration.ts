/** The declaration of webhooks: where a tenant's events are sent, and the deliveries beside the log. */
import { READERS, readBy } from '../core/database-roles.ts'
import { type Declaration, type EventWriters, QUICK_LIMITS, WHOLE_ROW } from '../core/declaration.ts'
import type { WebhookDeliveryEvent } from './delivery-events.ts'
import type { WebhookEvent } from './events.ts'

const DELIVERIES = readBy(READERS, { api: 'SELECT, INSERT, UPDATE', sender: 'SELECT, INSERT, UPDATE, DELETE' })

export const webhooks = {
  name: 'webhooks',
  ids: { webhook: 'whk', webhookSecret: 'whs', webhookReplay: 'rpl', delivery: 'dlv' },
  scopes: ['webhooks:read', 'webhooks:write'],
  tables: {
    webhooks: { follows: 'stream', grants: readBy([...READERS, 'dispatcher', 'sender']) },
    webhook_replays: { follows: 'stream', grants: readBy([...READERS, 'sender']) },
    webhook_secrets: {
      beside: 'secrets, sealed to the sender: no event contains them',
      grants: { api: 'INSERT', sender: 'SELECT, DELETE' },
    },
    webhook_deliveries: {
      beside: 'what is still to be sent, and what was sent in 30 days, with each attempt',
      grants: DELIVERIES,
    },
    webhook_replay_progress: {
      beside: 'how far the replays are',
      grants: readBy(READERS, { sender: 'SELECT, INSERT, UPDATE' }),
    },
    webhook_health: { beside: 'how the receivers do', grants: DELIVERIES },
  },
  streams: {
    webhook: {
      rows: {
        webhooks: {
          of: '{webhook_id}',
          changes: {
            WebhookCreated: WHOLE_ROW,
            WebhookChanged: ['url', 'description', 'types', 'wallet_ids', 'payload', 'updated_at'],
            WebhookSecretRotated: ['public_key', 'secrets', 'updated_at'],
            WebhookDisabled: ['status', 'disabled_reason', 'updated_at'],
            WebhookEnabled: ['status', 'disabled_reason', 'updated_at'],
            WebhookDeleted: ['status', 'updated_at'],
            WebhookTested: [],
            WebhookReplayRequested: [],
          },
        },
        webhook_replays: { of: '{webhook_id}', changes: { WebhookReplayRequested: WHOLE_ROW } },
      },
      readScope: 'webhooks:read',
      events: {
        WebhookCreated: ['api'],
        WebhookChanged: ['api'],
        WebhookSecretRotated: ['api'],
        WebhookDisabled: ['api', 'sender'],
        WebhookEnabled: ['api'],
        WebhookDeleted: ['api'],
        WebhookTested: ['api'],
        WebhookReplayRequested: ['api'],
      } satisfies EventWriters<WebhookEvent>,
    },
    delivery: {
      rows: {},
      readScope: 'webhooks:read',
      events: { WebhookDeliveryGivenUp: ['sender'] } satisfies EventWriters<WebhookDeliveryEvent>,
    },
  },
  queues: { webhook: { limits: QUICK_LIMITS } },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly webhooks: typeof webhooks
  }
}
