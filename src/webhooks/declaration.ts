/** The declaration of webhooks: where a tenant's events are sent, and the deliveries beside the log. */
import { READERS, readBy } from '../core/database-roles.ts'
import { type Declaration, type EventWriters, QUICK_LIMITS, WHOLE_ROW } from '../core/declaration.ts'
import type { WebhookDeliveryEvent } from './delivery-events.ts'
import type { WebhookEvent } from './events.ts'

const DELIVERIES = readBy(READERS, { api: 'SELECT, INSERT, UPDATE', sender: 'SELECT, INSERT, UPDATE, DELETE' })

export const webhooks = {
  name: 'webhooks',
  ids: { webhook: 'whk', webhookSecret: 'whs', webhookReplay: 'rpl', delivery: 'dlv' },
  scopes: { 'webhooks:read': {}, 'webhooks:write': { byNameAlone: true } },
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
  errors: {
    validation_error: {
      ambiguous_start: 'Send `after` or `from`, not both.',
      invalid_signatures: 'Send ["v1"] or ["v1", "v1a"], or omit the field.',
      type_not_sent: 'Use types of the webhook, or add the type to it.',
      type_without_wallet: 'Omit the type, or `wallet_ids`: they never match together.',
      url_has_credentials: 'Remove the user name and the password from the URL.',
      url_not_https: 'Use an https URL.',
      url_not_public: 'Use a URL whose host is on the public internet.',
      url_port_refused: 'Use the port 443, or one from 1024.',
    },
    permission_error: {
      event_scope_missing: 'Use an API key that may read what the webhook sends, or set `payload` to `thin`.',
    },
    not_found: {
      delivery_not_found: 'Check the id. Deliveries are kept for 30 days after they ended.',
      webhook_not_found: 'Check the id. It may belong to another tenant or environment.',
      webhook_replay_not_found: 'Check the id of the replay and of the webhook.',
    },
    conflict: {
      too_many_replays: 'Wait until a replay of the webhook is completed.',
      too_many_secrets: 'Wait until a secret expires, or rotate with `overlap_hours` 0.',
      webhook_disabled: 'Enable the webhook first.',
    },
    unavailable: {
      webhooks_not_configured: 'Ask the operator to set WEBHOOK_RECIPIENT.',
    },
  },
  counters: {
    bursar_webhook_given_up_total: { help: 'Deliveries that were given up after their last attempt.', labels: [] },
  },
  timers: {
    bursar_webhook_attempt_duration_seconds: {
      help: 'Duration of attempts to deliver an event to a webhook in seconds, by outcome.',
      labels: ['outcome'],
      // A receiver has 15 seconds.
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
    },
  },
  levels: {
    bursar_webhook_fan_out_lag_seconds: {
      help: 'Time from the record of the newest event that was read for webhooks to its read. Only the leading sender sets it.',
      labels: [],
    },
  },
  findings: [
    {
      place: 90,
      kinds: {
        webhook_failing: 'deliveries to a webhook fail',
        webhook_disabled: 'a webhook was disabled because its receiver failed or is gone',
        webhook_not_sent: 'events wait for a webhook, and no sender tries to send them',
        webhook_replay_stopped: 'a replay to a webhook makes no progress',
        webhook_replay_expired: 'a replay to a webhook was not begun within seven days',
      },
    },
  ],
  tags: {
    Webhooks: { description: 'Have events sent to your URL, signed and in order for each resource.', place: 90 },
    'Event types': { description: 'When each event occurs, and its fields: in the feed and in webhooks.', place: 100 },
  },
  quotas: {
    webhooks: {
      kind: 'counted',
      place: 40,
      // Each event is sent once for each webhook that wants it.
      default: 50,
      description: 'Maximum number of webhooks of a tenant',
      counted: 'webhooks',
      remedy: 'Delete one',
      retryAfterSeconds: null,
    },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly webhooks: typeof webhooks
  }
}
