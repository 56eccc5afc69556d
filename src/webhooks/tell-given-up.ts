/**
 * Records an event for each delivery that was given up, so that its tenant learns of it from the feed and by other
 * webhooks. The rows say which are not recorded yet: whoever dies meanwhile, each is recorded once.
 *
 * The public event of it is a delivery too. When that is given up, nothing is recorded: no event causes itself.
 */
import type { Pool } from 'pg'
import { toIso } from '../core/instants.ts'
import type { Environment } from '../core/networks.ts'
import type { EventLog } from '../event-log/log.ts'
import type { Row } from '../event-log/table-rows.ts'
import { deliveryAggregate } from './delivery-aggregate.ts'
import type { WebhookDeliveryEvent } from './delivery-events.ts'
import { UNTOLD } from './sql.ts'

/** Deliveries that are recorded at once. */
const PAGE = 32

type UntoldRow = Pick<
  Row<'webhook_deliveries'>,
  'delivery_id' | 'webhook_id' | 'event_id' | 'type' | 'replay_id' | 'attempts'
> & {
  readonly tenant_id: string
  readonly environment: Environment
  readonly ended_at: Date | null
  readonly last_attempt: WebhookDeliveryEvent['data']['lastAttempt']
}

/** @throws what failed for one of them, after the others were recorded: the caller starts again */
export async function tellGivenUp(
  { pool, log }: { readonly pool: Pool; readonly log: Pick<EventLog, 'execute' | 'now'> },
  signal: AbortSignal,
): Promise<void> {
  const errors: unknown[] = []
  let last = { webhook_id: '', delivery_id: '' }
  for (let isMore = true; isMore && !signal.aborted; ) {
    const { rows } = await pool.query<UntoldRow>({
      name: 'untold_deliveries',
      text: `SELECT d.delivery_id, d.webhook_id, w.tenant_id, w.environment, d.event_id, d.type, d.replay_id, d.attempts, d.ended_at,
                    d.attempt_list -> -1 AS last_attempt
               FROM webhook_deliveries AS d JOIN webhooks AS w USING (webhook_id)
              WHERE ${UNTOLD} AND (d.webhook_id, d.delivery_id) > ($1, $2) ORDER BY d.webhook_id, d.delivery_id LIMIT $3`,
      values: [last.webhook_id, last.delivery_id, PAGE],
    })
    const told = await Promise.allSettled(rows.map((row) => tell(log, row)))
    errors.push(...told.flatMap((one) => (one.status === 'rejected' ? [one.reason] : [])))
    await markTold(
      pool,
      rows.filter((_row, n) => told[n]?.status === 'fulfilled'),
    )
    last = rows.at(-1) ?? last
    isMore = rows.length === PAGE
  }
  if (errors.length > 0) throw errors[0]
}

async function tell(log: Pick<EventLog, 'execute' | 'now'>, row: UntoldRow): Promise<void> {
  const { last_attempt: last } = row
  const delivery = {
    webhookId: row.webhook_id,
    environment: row.environment,
    eventId: row.event_id,
    eventType: row.type,
    replayId: row.replay_id,
    attempts: row.attempts,
    lastAttempt: last === null ? null : { at: last.at, status: last.status, error: last.error },
    givenUpAt: row.ended_at === null ? log.now() : toIso(row.ended_at),
  }
  const metadata = { tenantId: row.tenant_id, actor: 'worker:webhook-sender' }
  await log.execute(deliveryAggregate, row.delivery_id, { type: 'GiveUp', delivery }, { metadata })
}

/** One that was retried and given up again meanwhile is told of again. */
async function markTold(pool: Pool, rows: readonly UntoldRow[]): Promise<void> {
  if (rows.length === 0) return
  await pool.query({
    name: 'mark_told_deliveries',
    text: `UPDATE webhook_deliveries AS d SET told_attempts = told.attempts
             FROM unnest($1::text[], $2::text[], $3::integer[]) AS told(webhook_id, delivery_id, attempts)
            WHERE d.webhook_id = told.webhook_id AND d.delivery_id = told.delivery_id`,
    values: [rows.map((row) => row.webhook_id), rows.map((row) => row.delivery_id), rows.map((row) => row.attempts)],
  })
}
