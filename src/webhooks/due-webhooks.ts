/** Finds the webhooks that have something to be sent now. */
import type { Pool } from 'pg'
import type { OrNull, Row } from '../event-log/table-rows.ts'
import { isDue, PENDING } from './sql.ts'

/** Enabled webhooks with a delivery that is due, unless they are paused after failures. */
export async function findDueWebhooks(pool: Pool, now: Date): Promise<string[]> {
  const { rows } = await pool.query<Pick<Row<'webhooks'>, 'webhook_id'>>({
    name: 'due_webhooks',
    text: `SELECT w.webhook_id FROM webhooks AS w LEFT JOIN webhook_health AS h USING (webhook_id)
            WHERE w.status = 'enabled' AND (h.paused_until IS NULL OR h.paused_until <= $1)
              AND EXISTS (SELECT FROM webhook_deliveries AS d WHERE d.webhook_id = w.webhook_id AND ${isDue('$1')})`,
    values: [now],
  })
  return rows.map((row) => row.webhook_id)
}

/** Seconds since the oldest delivery was added that an enabled webhook has not received; 0 if there is none. */
export async function readOldestPending(pool: Pool, now: number): Promise<number> {
  const { rows } = await pool.query<OrNull<Pick<Row<'webhook_deliveries'>, 'created_at'>>>({
    name: 'oldest_pending_delivery',
    text: `SELECT min(oldest.created_at) AS created_at FROM webhooks AS w CROSS JOIN LATERAL (
             SELECT d.created_at FROM webhook_deliveries AS d WHERE d.webhook_id = w.webhook_id AND ${PENDING}
              ORDER BY d.created_at LIMIT 1) AS oldest
            WHERE w.status = 'enabled'`,
  })
  const at = rows[0]?.created_at
  return at == null ? 0 : Math.max(0, now - at.getTime()) / 1_000
}
