/** Reads the deliveries of a webhook, and queues a delivery again. The caller has found the webhook. */
import type { Context } from '../context.ts'
import { NotFound } from '../core/errors.ts'
import type { Row } from '../event-log/table-rows.ts'
import type { DeliveryState } from './delivery-state.ts'
import {
  type DeliveryDetail,
  type DeliveryRow,
  type DeliveryView,
  toDeliveryDetail,
  toDeliveryView,
} from './delivery-view.ts'
import type { Payload, WebhookTerms } from './events.ts'

/** Omitted fields match everything. */
export type DeliveryFilter = {
  readonly state?: DeliveryState | undefined
  /** Deliveries older than the one with this id. */
  readonly before?: string | undefined
  readonly limit: number
}

/** Newest first. */
export async function listDeliveries(
  { pool }: Pick<Context, 'pool'>,
  webhookId: string,
  { state, before, limit }: DeliveryFilter,
): Promise<DeliveryView[]> {
  const { rows } = await pool.query<DeliveryRow>({
    name: `list_deliveries_${state ?? 'all'}`,
    text: `SELECT * FROM webhook_deliveries
            WHERE webhook_id = $1 AND ${state === undefined ? 'true' : `state = '${state}'`} AND ($2::text IS NULL OR delivery_id < $2)
            ORDER BY delivery_id DESC LIMIT $3`,
    values: [webhookId, before ?? null, limit],
  })
  return rows.map(toDeliveryView)
}

/** With its attempts. @throws NotFound `delivery_not_found` */
export async function readDelivery(
  { pool }: Pick<Context, 'pool'>,
  webhookId: string,
  deliveryId: string,
): Promise<DeliveryDetail> {
  const { rows } = await pool.query<DeliveryRow>({
    name: 'read_delivery',
    text: 'SELECT * FROM webhook_deliveries WHERE delivery_id = $1 AND webhook_id = $2',
    values: [deliveryId, webhookId],
  })
  const [row] = rows
  if (row === undefined) throw new NotFound('delivery')
  return toDeliveryDetail(row)
}

/** What an attempt sends. @throws NotFound `delivery_not_found` */
export async function sentByDelivery(
  { pool }: Pick<Context, 'pool'>,
  webhookId: string,
  deliveryId: string,
): Promise<Pick<WebhookTerms, 'types' | 'payload'>> {
  const { rows } = await pool.query<Pick<Row<'webhook_deliveries'>, 'type'> & { readonly payload: Payload }>({
    name: 'sent_by_delivery',
    text: `SELECT d.type, coalesce(d.payload, w.payload) AS payload FROM webhook_deliveries AS d JOIN webhooks AS w USING (webhook_id)
            WHERE d.delivery_id = $1 AND d.webhook_id = $2`,
    values: [deliveryId, webhookId],
  })
  const [row] = rows
  if (row === undefined) throw new NotFound('delivery')
  return { types: [row.type], payload: row.payload }
}

/**
 * Has a delivery sent again at once, whatever its state: also while its webhook pauses, or earlier events of its resource
 * wait. Repeating this before it was sent changes nothing more. @throws NotFound `delivery_not_found`
 */
export async function retryDelivery(
  { pool }: Pick<Context, 'pool'>,
  webhookId: string,
  deliveryId: string,
  now: Date,
): Promise<void> {
  const { rowCount } = await pool.query({ name: 'retry_delivery', text: RETRY, values: [deliveryId, webhookId, now] })
  if (rowCount === 0) throw new NotFound('delivery')
}

// One that was given up was counted as a gap, and is none any more.
const RETRY = `WITH before AS (
    SELECT delivery_id, state FROM webhook_deliveries WHERE delivery_id = $1 AND webhook_id = $2 FOR UPDATE
  ), health AS (
    UPDATE webhook_health SET gaps = greatest(gaps - (SELECT count(*) FROM before WHERE state = 'failed'), 0)
     WHERE webhook_id = $2 AND EXISTS (SELECT FROM before)
  )
  UPDATE webhook_deliveries AS d SET state = 'pending', due_at = $3, ended_at = NULL, is_asked = true FROM before
   WHERE d.webhook_id = $2 AND d.delivery_id = before.delivery_id`
