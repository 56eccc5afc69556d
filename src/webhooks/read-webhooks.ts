/** Reads webhooks for their owner, with how their receivers do. Access is restricted in the query. */
import type { Context } from '../context.ts'
import { NotFound } from '../core/errors.ts'
import type { Owner } from '../core/tenants.ts'
import type { WebhookStatus } from './decider.ts'
import { KNOWN, PENDING } from './sql.ts'
import { type HealthRow, toView, type WebhookRow, type WebhookView } from './view.ts'

/** Omitted fields match everything that is not deleted. */
export type WebhookFilter = {
  readonly status?: Exclude<WebhookStatus, 'deleted'> | undefined
  /** Webhooks older than the one with this id. */
  readonly before?: string | undefined
  readonly limit: number
}

const WITH_HEALTH = `SELECT w.*, h.failing_since, h.paused_until, h.succeeded_at, h.gaps, oldest.created_at AS oldest_at
  FROM webhooks AS w LEFT JOIN webhook_health AS h USING (webhook_id)
  LEFT JOIN LATERAL (SELECT d.created_at FROM webhook_deliveries AS d
    WHERE d.webhook_id = w.webhook_id AND d.${PENDING} AND w.${KNOWN} ORDER BY d.created_at LIMIT 1) AS oldest ON true
 WHERE w.tenant_id = $1 AND w.environment = $2`

/** Deleted ones too with `deleted`. @throws NotFound `webhook_not_found` */
export async function readWebhook(
  { pool }: Pick<Context, 'pool'>,
  { tenantId, environment }: Owner,
  webhookId: string,
  { deleted = false }: { readonly deleted?: boolean } = {},
): Promise<WebhookView> {
  const { rows } = await pool.query<WebhookRow & HealthRow>({
    name: 'read_webhook',
    text: `${WITH_HEALTH} AND w.webhook_id = $3 AND (w.${KNOWN} OR $4)`,
    values: [tenantId, environment, webhookId, deleted],
  })
  const [row] = rows
  if (row === undefined) throw new NotFound('webhook')
  return toView(row)
}

/** Newest first: ids sort by creation time. */
export async function listWebhooks(
  { pool }: Pick<Context, 'pool'>,
  { tenantId, environment }: Owner,
  { status, before, limit }: WebhookFilter,
): Promise<WebhookView[]> {
  const { rows } = await pool.query<WebhookRow & HealthRow>({
    name: 'list_webhooks',
    text: `${WITH_HEALTH} AND w.${KNOWN} AND ($3::text IS NULL OR w.status = $3) AND ($4::text IS NULL OR w.webhook_id < $4)
            ORDER BY w.webhook_id DESC LIMIT $5`,
    values: [tenantId, environment, status ?? null, before ?? null, limit],
  })
  return rows.map(toView)
}
