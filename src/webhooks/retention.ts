/** Removes what nobody needs any more: the log has every event, and a replay sends those of any age again. */
import type { Pool } from 'pg'
import { earliestIdAt } from '../core/ids.ts'
import { webhooks } from './declaration.ts'

/** Deliveries and their attempts are readable for this time. */
const KEPT_MS = 30 * 24 * 60 * 60_000
/** Rows of one statement: it holds no lock for long. */
const BATCH = 5_000

/**
 * Removes at most `$3` deliveries that ended before `$1`, and those that a webhook which is disabled for so long has not
 * received: these are counted as gaps. `$2` is the first id of that time: a delivery with a later one is not old, and is
 * not read.
 */
const REMOVE_DELIVERIES = `WITH old AS (
    (SELECT w.webhook_id, ended.delivery_id FROM webhooks AS w CROSS JOIN LATERAL (
       SELECT d.delivery_id FROM webhook_deliveries AS d
        WHERE d.webhook_id = w.webhook_id AND d.delivery_id < $2 AND d.state <> 'pending' AND d.ended_at < $1 LIMIT $3) AS ended LIMIT $3)
    UNION ALL
    (SELECT d.webhook_id, d.delivery_id FROM webhook_deliveries AS d JOIN webhooks AS w USING (webhook_id)
      WHERE d.state = 'pending' AND (w.status = 'deleted' OR (w.status = 'disabled' AND d.created_at < $1)) LIMIT $3)
  ), removed AS (
    DELETE FROM webhook_deliveries WHERE (webhook_id, delivery_id) IN (SELECT * FROM old) RETURNING webhook_id, state
  ), missed AS (
    INSERT INTO webhook_health AS h (webhook_id, gaps)
    SELECT webhook_id, count(*) FROM removed WHERE state = 'pending' GROUP BY webhook_id
    ON CONFLICT (webhook_id) DO UPDATE SET gaps = h.gaps + excluded.gaps
  ) SELECT count(*)::integer AS count FROM removed`

/** Removes at most `$2` secrets that sign no more at the time `$1`. A new one is there a moment before the event that names it. */
const REMOVE_SECRETS = `WITH removed AS (
    DELETE FROM webhook_secrets WHERE secret_id IN (
      SELECT s.secret_id FROM webhook_secrets AS s
       WHERE s.created_at < $1::timestamptz - interval '1 hour' AND NOT EXISTS (
         SELECT FROM webhooks AS w, jsonb_to_recordset(w.secrets) AS named(secret_id text, expires_at timestamptz)
          WHERE w.webhook_id = s.webhook_id AND w.status <> 'deleted' AND named.secret_id = s.secret_id
            AND (named.expires_at IS NULL OR named.expires_at > $1)) LIMIT $2)
    RETURNING secret_id
  ) SELECT count(*)::integer AS count FROM removed`

/** Removes everything that is too old at this time. @returns the number of deliveries and secrets */
export async function removeOld(pool: Pool, now: number, signal: AbortSignal): Promise<number> {
  const before = now - KEPT_MS
  const firstId = earliestIdAt(webhooks.ids.delivery, before)
  const statements = [
    { text: REMOVE_DELIVERIES, values: [new Date(before), firstId, BATCH] },
    { text: REMOVE_SECRETS, values: [new Date(now), BATCH] },
  ]
  let total = 0
  for (const statement of statements) {
    for (let count = BATCH; count >= BATCH && !signal.aborted; total += count) {
      const { rows } = await pool.query<{ count: number }>(statement)
      count = rows[0]?.count ?? 0
    }
  }
  return total
}
