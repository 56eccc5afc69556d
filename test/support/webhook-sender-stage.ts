/** The API of webhooks and one or more senders on a fresh database, with receivers of this machine. No chain, no other worker. */
import type { Test } from 'tap'
import { withRender } from '../../src/compose/catalogue.ts'
import { composeKernel } from '../../src/compose/kernel.ts'
import { loadConfig } from '../../src/compose/load-config.ts'
import { startWebhookSender } from '../../src/webhooks/run-sender.ts'
import { runWorker } from './service-local.ts'
import { ACME, makeWallet } from './wallet-parts.ts'
import { LOCAL_RECEIVERS, type Receiver, withReceiver } from './webhook-receiver.ts'
import { type WebhookData, type WebhookStage, withWebhooks } from './webhook-stage.ts'

export type SenderStage = WebhookStage & {
  readonly receiver: Receiver
  /** @param name tells it from other senders */
  readonly startSender: (name?: string) => Promise<{ readonly stop: () => Promise<void> }>
  /** The settings of a sender that runs as a process. */
  readonly env: Readonly<Record<string, string>>
  /** A webhook whose deliveries the receiver verifies and counts under this path. */
  readonly hook: (path: string, terms?: object) => Promise<WebhookData>
  /** A new wallet, whose creation is an event. */
  readonly wallet: () => Promise<string>
  /** As many more like it, of these tenants in turn, each with one delivery. */
  readonly addCopies: (webhookId: string, count: number, tenants: readonly string[]) => Promise<void>
  /** Adds deliveries of the event that created the webhook, each of a resource of its own. @param first the number of the first */
  readonly addDeliveries: (
    webhookId: string,
    count: number,
    more?: { readonly replayId?: string; readonly first?: number },
  ) => Promise<void>
}

export async function withWebhookSender(t: Test): Promise<SenderStage> {
  const stage = await withWebhooks(t, LOCAL_RECEIVERS)
  const receiver = await withReceiver(t)
  const env = {
    ...LOCAL_RECEIVERS,
    DATABASE_URL: stage.url,
    WEBHOOK_IDENTITY: stage.identity,
    LOG_LEVEL: 'fatal',
    LEASE_MS: '5000',
    SHUTDOWN_GRACE_MS: '100',
  }
  const config = loadConfig(env)
  return {
    ...stage,
    receiver,
    env,
    async startSender(name = 'sender') {
      const { stop } = await runWorker(composeKernel(config, 'webhook-sender', name), async (kernel, signal) =>
        startWebhookSender(await withRender(kernel), signal),
      )
      t.after(stop)
      return { stop }
    },
    async hook(path, terms = {}) {
      const data = await stage.create({ url: receiver.urlOf(path), ...terms })
      receiver.verifyWith(path, data.secret)
      return data
    },
    wallet: () => makeWallet(stage, {}, ACME),
    async addCopies(webhookId, count, tenants) {
      await stage.pool.query(
        `WITH copied AS (
           INSERT INTO webhooks
           SELECT (jsonb_populate_record(w, jsonb_build_object('webhook_id', w.webhook_id || '-' || n,
                     'tenant_id', ($3::text[])[1 + n % cardinality($3::text[])],
                     'secrets', jsonb_build_array((w.secrets -> 0) || jsonb_build_object('secret_id', (w.secrets #>> '{0,secret_id}') || '-' || n))))).*
             FROM webhooks AS w, generate_series(1, $2::integer) AS n WHERE w.webhook_id = $1
           RETURNING webhook_id, tenant_id
         ), secrets AS (
           INSERT INTO webhook_secrets (secret_id, webhook_id, sealed, created_at)
           SELECT secret_id || '-' || n, webhook_id || '-' || n, sealed, created_at FROM webhook_secrets, generate_series(1, $2::integer) AS n
            WHERE webhook_id = $1
         )
         INSERT INTO webhook_deliveries (delivery_id, webhook_id, tenant_id, event_id, type, stream_id, transaction_id, position, part, due_at, created_at)
         SELECT 'dlv_1', webhook_id, tenant_id, 'evt_webhook-' || $1 || '.1', 'webhook.created', 'made', '5', 1, 0, now(), now() FROM copied`,
        [webhookId, count, tenants],
      )
    },
    async addDeliveries(webhookId, count, { replayId = null, first = 1 } = {}) {
      await stage.pool.query(
        `INSERT INTO webhook_deliveries (delivery_id, webhook_id, tenant_id, event_id, type, stream_id, transaction_id, position, part, replay_id, due_at, created_at)
         SELECT 'dlv_' || coalesce($3, '') || lpad(n::text, 6, '0'), $1, w.tenant_id, 'evt_webhook-' || $1 || '.1', 'webhook.created', 'made-' || n, '5', n, 0, $3, now(), now()
           FROM webhooks AS w, generate_series($4::integer, $4::integer + $2::integer - 1) AS n WHERE w.webhook_id = $1`,
        [webhookId, count, replayId, first],
      )
    },
  }
}
