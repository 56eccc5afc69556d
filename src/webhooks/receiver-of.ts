/** Reads where a webhook is sent to, and how its receiver does. */
import type { Pool } from 'pg'
import type { OrNull, Row } from '../event-log/table-rows.ts'
import type { DrainPorts } from './drain-webhook.ts'
import type { Payload } from './events.ts'
import { TRIED } from './sql.ts'

type ReceiverRow = Pick<
  Row<'webhooks', { payload: Payload }>,
  'webhook_id' | 'version' | 'tenant_id' | 'url' | 'payload' | 'updated_at'
> &
  OrNull<Pick<Row<'webhook_health'>, 'paused_until' | 'failing_since'>> & { readonly is_waiting: boolean }

export function createReceiverOf(pool: Pool): DrainPorts['receiverOf'] {
  return async (webhookId) => {
    const { rows } = await pool.query<ReceiverRow>({
      name: 'receiver_of_webhook',
      text: `SELECT w.webhook_id, w.version, w.tenant_id, w.url, w.payload, w.updated_at, h.paused_until, h.failing_since,
                    EXISTS (SELECT FROM webhook_deliveries AS d WHERE d.webhook_id = w.webhook_id AND ${TRIED}) AS is_waiting
               FROM webhooks AS w LEFT JOIN webhook_health AS h USING (webhook_id)
              WHERE w.webhook_id = $1 AND w.status = 'enabled'`,
      values: [webhookId],
    })
    const [row] = rows
    if (row === undefined) return null
    return {
      webhookId: row.webhook_id,
      version: row.version,
      tenantId: row.tenant_id,
      url: row.url,
      payload: row.payload,
      updatedAt: row.updated_at,
      pausedUntil: row.paused_until,
      isFailing: row.failing_since !== null,
      isWaiting: row.is_waiting,
    }
  }
}
