/** The read model of a webhook: its row. Pure. */
import type { Aggregate, ReadModelRow } from '../event-log/aggregate.ts'
import { type WebhookCommand, type WebhookState, webhookDecider } from './decider.ts'
import type { WebhookEvent } from './events.ts'

const first = { version: 1, upcasters: [] }

export const webhookAggregate: Aggregate<WebhookState, WebhookCommand, WebhookEvent, 'webhooks'> = {
  ...webhookDecider,
  category: 'webhook',
  schemas: {
    WebhookCreated: first,
    WebhookChanged: first,
    WebhookSecretRotated: first,
    WebhookDisabled: first,
    WebhookEnabled: first,
    WebhookDeleted: first,
  },
  opens(event, { id }) {
    if (event.type === 'WebhookCreated') return { id, rank: 0 }
    return event.type === 'WebhookSecretRotated' ? { id: event.data.secretId, rank: 0 } : null
  },
  project: (_before, after, { id, tenantId, version }) => ({ rows: rowsOf(after, id, tenantId, version), holds: [] }),
}

function rowsOf(webhook: WebhookState, id: string, tenantId: string, version: number): ReadModelRow<'webhooks'>[] {
  if (webhook.status === 'unknown') return []
  const row = {
    webhook_id: id,
    tenant_id: tenantId,
    environment: webhook.environment,
    url: webhook.url,
    description: webhook.description,
    types: webhook.types,
    wallet_ids: webhook.walletIds,
    payload: webhook.payload,
    signatures: webhook.signatures,
    public_key: webhook.publicKey,
    secrets: webhook.secrets.map(({ secretId, expiresAt }) => ({ secret_id: secretId, expires_at: expiresAt })),
    status: webhook.status,
    disabled_reason: webhook.disabledReason,
    created_at: webhook.createdAt,
    updated_at: webhook.updatedAt,
    version,
  }
  return [{ table: 'webhooks', row }]
}
