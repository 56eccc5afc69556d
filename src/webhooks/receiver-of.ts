/** Reads where a webhook is sent to, and how its receiver does. */
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import type { Context } from '../context.ts'
import { atMost } from '../core/at-most.ts'
import type { OrNull, Row } from '../event-log/table-rows.ts'
import { ASKED, MOST_REFUSED, TRIED } from './sql.ts'

export type Receiver = {
  readonly webhookId: string
  /** Of its stream: it changes with everything about it, its secrets too. */
  readonly version: number
  readonly tenantId: string
  readonly url: string
  /** When its owner last changed or enabled it. */
  readonly updatedAt: Date
  readonly pausedUntil: Date | null
  /** Whether nothing succeeded since its last failure. */
  readonly isFailing: boolean
  /** Whether it has answered, and refused many in a row. */
  readonly refusesAll: boolean
  readonly replaysRestUntil: Date | null
  /** Whether it has refused many replays in a row. */
  readonly refusesReplays: boolean
  /** Whether a delivery waits for its next attempt: it holds back the later ones of its resource. */
  readonly isWaiting: boolean
  /** Whether its owner asked for a delivery. */
  readonly isAsked: boolean
}

/** Webhooks whose tenant is kept in memory. */
const REMEMBERED = 50_000

type ReceiverRow = Pick<Row<'webhooks'>, 'webhook_id' | 'version' | 'tenant_id' | 'url' | 'updated_at'> &
  OrNull<
    Pick<Row<'webhook_health'>, 'paused_until' | 'failing_since' | 'refused' | 'replays_refused' | 'replays_rest_until'>
  > & {
    readonly is_waiting: boolean
    readonly is_asked: boolean
  }

/** `null` for a webhook that is disabled or deleted. */
export async function readReceiver({ pool }: Pick<Context, 'pool'>, webhookId: string): Promise<Receiver | null> {
  const { rows } = await pool.query<ReceiverRow>({
    name: 'receiver_of_webhook',
    text: `SELECT w.webhook_id, w.version, w.tenant_id, w.url, w.updated_at, h.paused_until, h.failing_since, h.refused, h.replays_refused, h.replays_rest_until,
                  EXISTS (SELECT FROM webhook_deliveries AS d WHERE d.webhook_id = w.webhook_id AND ${ASKED}) AS is_asked,
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
    updatedAt: row.updated_at,
    pausedUntil: row.paused_until,
    isFailing: row.failing_since !== null,
    refusesAll: (row.refused ?? 0) >= MOST_REFUSED,
    replaysRestUntil: row.replays_rest_until,
    refusesReplays: (row.replays_refused ?? 0) >= MOST_REFUSED,
    isWaiting: row.is_waiting,
    isAsked: row.is_asked,
  }
}

/** Whose turn it is to send to it. A webhook keeps its tenant. */
export function createTenantOf(pool: Pool): (webhookId: string) => Promise<string | null> {
  const known = new LRUCache<string, string>(atMost(REMEMBERED))
  return async (webhookId) => {
    const own = known.get(webhookId)
    if (own !== undefined) return own
    const { rows } = await pool.query<Pick<Row<'webhooks'>, 'tenant_id'>>({
      name: 'tenant_of_webhook',
      text: 'SELECT tenant_id FROM webhooks WHERE webhook_id = $1',
      values: [webhookId],
    })
    const tenantId = rows[0]?.tenant_id ?? null
    if (tenantId !== null) known.set(webhookId, tenantId)
    return tenantId
  }
}
