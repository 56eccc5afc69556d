/** The API of webhooks and one or more senders on a fresh database, with receivers of this machine. No chain, no other worker. */
import type { Test } from 'tap'
import { composeKernel } from '../../src/compose/kernel.ts'
import { startWebhookSender } from '../../src/compose/webhook-sender.ts'
import { loadConfig } from '../../src/config.ts'
import { runWorker } from './service-local.ts'
import { ACME, makeWallet } from './wallet-parts.ts'
import { LOCAL_RECEIVERS, type Receiver, withReceiver } from './webhook-receiver.ts'
import { type WebhookData, type WebhookStage, withWebhooks } from './webhook-stage.ts'

export type SenderStage = WebhookStage & {
  readonly receiver: Receiver
  /** @param name tells it from other senders */
  readonly startSender: (name?: string) => Promise<{ readonly stop: () => Promise<void> }>
  /** A webhook whose deliveries the receiver verifies and counts under this path. */
  readonly hook: (path: string, terms?: object) => Promise<WebhookData>
  /** A new wallet, whose creation is an event. */
  readonly wallet: () => Promise<string>
  /** Adds deliveries of the event that created the webhook, each of a resource of its own. */
  readonly addDeliveries: (webhookId: string, count: number, replayId?: string) => Promise<void>
}

export async function withWebhookSender(t: Test): Promise<SenderStage> {
  const stage = await withWebhooks(t, LOCAL_RECEIVERS)
  const receiver = await withReceiver(t)
  const config = loadConfig({
    ...LOCAL_RECEIVERS,
    DATABASE_URL: stage.url,
    WEBHOOK_IDENTITY: stage.identity,
    LOG_LEVEL: 'fatal',
    LEASE_MS: '5000',
    SHUTDOWN_GRACE_MS: '100',
  })
  return {
    ...stage,
    receiver,
    async startSender(name = 'sender') {
      const { stop } = await runWorker(composeKernel(config, 'webhook-sender', name), startWebhookSender)
      t.after(stop)
      return { stop }
    },
    async hook(path, terms = {}) {
      const data = await stage.create({ url: receiver.urlOf(path), ...terms })
      receiver.verifyWith(path, data.secret)
      return data
    },
    wallet: () => makeWallet(stage, {}, ACME),
    async addDeliveries(webhookId, count, replayId) {
      await stage.pool.query(
        `INSERT INTO webhook_deliveries (delivery_id, webhook_id, tenant_id, event_id, type, stream_id, transaction_id, position, part, replay_id, due_at, created_at)
         SELECT 'dlv_' || coalesce($3, '') || lpad(n::text, 6, '0'), $1, w.tenant_id, 'evt_webhook-' || $1 || '.1', 'webhook.created', 'made-' || n, '5', n, 0, $3, now(), now()
           FROM webhooks AS w, generate_series(1, $2::integer) AS n WHERE w.webhook_id = $1`,
        [webhookId, count, replayId ?? null],
      )
    },
  }
}
