/** Finds what has something to be sent now. */
import type { Pool } from 'pg'
import type { QueueName } from '../core/registry.ts'
import type { OrNull, Row } from '../event-log/table-rows.ts'
import type { FindOpen } from '../jobs/forget-done.ts'
import { replaysOf } from './line.ts'
import { ASKED, isDue, isUntried, LIVE, MOST_REFUSED, PENDING, REPLAYED } from './sql.ts'

/**
 * The lines of enabled webhooks with a delivery that is due, unless they are paused after failures; and those whose owner
 * asked for one.
 */
export async function findDueLines(pool: Pool, now: Date): Promise<string[]> {
  const { rows } = await pool.query<Pick<Row<'webhooks'>, 'webhook_id'> & { is_live: boolean; is_replay: boolean }>({
    name: 'due_webhooks',
    text: `SELECT * FROM (
             SELECT w.webhook_id, ${of(ASKED)} OR CASE WHEN ${isUntil('h.paused_until')} THEN h.refused >= ${MOST_REFUSED} AND ${of(isUntried('h'))}
                      ELSE ${of(`${LIVE} AND ${isDue('$1')}`)} END AS is_live,
                    NOT ${isUntil('h.paused_until')} AND NOT ${isUntil('h.replays_rest_until')}
                      AND ${of(`${REPLAYED} AND ${isDue('$1')}`)} AS is_replay
               FROM webhooks AS w LEFT JOIN webhook_health AS h USING (webhook_id) WHERE w.status = 'enabled') AS found
            WHERE is_live OR is_replay`,
    values: [now],
  })
  return rows.flatMap(({ webhook_id: id, is_live, is_replay }) => [
    ...(is_live ? [id] : []),
    ...(is_replay ? [replaysOf(id)] : []),
  ])
}

/** Not EXISTS: the planner would read all that is pending of every webhook. */
const of = (deliveries: string) =>
  `(SELECT true FROM webhook_deliveries AS d WHERE d.webhook_id = w.webhook_id AND ${deliveries} LIMIT 1) IS NOT NULL`
const isUntil = (time: string) => `coalesce(${time} > $1, false)`

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

/** Webhooks that are not disabled and have something to be sent, now or later. */
export const OPEN_WEBHOOKS: ReadonlyMap<QueueName, FindOpen> = new Map([
  ['webhook', (pool) => findDueLines(pool, new Date('9999-01-01'))],
])
