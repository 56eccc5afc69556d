/** The read models of a webhook: its row, and one row for each replay. Pure. */
import type { Aggregate, ReadModelRow } from '../event-log/aggregate.ts'
import { type KnownWebhook, type WebhookCommand, type WebhookState, webhookDecider } from './decider.ts'
import type { WebhookEvent, WebhookReplayRequested } from './events.ts'

const first = { version: 1, upcasters: [] }

export const webhookAggregate: Aggregate<WebhookState, WebhookCommand, WebhookEvent, 'webhooks' | 'webhook_replays'> = {
  ...webhookDecider,
  category: 'webhook',
  schemas: {
    WebhookCreated: first,
    WebhookChanged: first,
    WebhookSecretRotated: first,
    WebhookDisabled: first,
    WebhookEnabled: first,
    WebhookDeleted: first,
    WebhookTested: first,
    WebhookReplayRequested: first,
  },
  opens(event, { id, version }) {
    switch (event.type) {
      case 'WebhookCreated':
      case 'WebhookEnabled':
      case 'WebhookDisabled':
        return { id, rank: 0 }
      case 'WebhookSecretRotated':
        return { id: event.data.secretId, rank: 0 }
      case 'WebhookTested':
        return { id: testIdOf(id, version), rank: 0 }
      case 'WebhookReplayRequested':
        return { id: event.data.replayId, rank: 0 }
      default:
        return null
    }
  },
  project(before, after, { id, tenantId, version }) {
    if (after.status === 'unknown') return { rows: [], holds: [] }
    const known = before.status === 'unknown' ? null : before.replay
    const { replay } = after
    const replayed = replay === null || replay === known ? [] : [replayRow(id, tenantId, version, after, replay)]
    return { rows: [webhookRow(after, id, tenantId, version), ...replayed], holds: [] }
  },
}

/** The resource of the request for a test: the version of its event. */
export function testIdOf(webhookId: string, version: number): string {
  return `${webhookId}:${version}`
}

function webhookRow(webhook: KnownWebhook, id: string, tenantId: string, version: number): ReadModelRow<'webhooks'> {
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
  return { table: 'webhooks', row }
}

function replayRow(
  id: string,
  tenantId: string,
  version: number,
  { environment }: KnownWebhook,
  replay: WebhookReplayRequested['data'],
): ReadModelRow<'webhook_replays'> {
  return {
    table: 'webhook_replays',
    row: {
      replay_id: replay.replayId,
      webhook_id: id,
      tenant_id: tenantId,
      environment,
      after: replay.after,
      from_at: replay.from,
      to_at: replay.to,
      types: replay.types,
      only_failed: replay.onlyFailed,
      requested_at: replay.requestedAt,
      version,
    },
  }
}
