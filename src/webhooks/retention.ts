/** Removes what nobody needs any more: the log has every event, and a replay sends those of any age again. */
import type { Pool } from 'pg'

/** Deliveries and their attempts are readable for this time. */
const KEPT_DAYS = 30
/** Rows of one statement: it holds no lock for long. */
const BATCH = 5_000

/** Before this time a delivery is old. */
const OLD = `$1::timestamptz - interval '${KEPT_DAYS * 24} hours'`

/** Each removes at most `$2` rows. `$1` is the current time. */
const REMOVALS = [
  // Ended deliveries, and what a webhook that is disabled for so long has not received: that is counted as a gap.
  `WITH old AS (
     (SELECT delivery_id FROM webhook_deliveries WHERE state <> 'pending' AND ended_at < ${OLD} LIMIT $2)
     UNION ALL
     (SELECT d.delivery_id FROM webhook_deliveries AS d JOIN webhooks AS w USING (webhook_id)
       WHERE d.state = 'pending' AND (w.status = 'deleted' OR (w.status = 'disabled' AND d.created_at < ${OLD})) LIMIT $2)
   ), removed AS (
     DELETE FROM webhook_deliveries WHERE delivery_id IN (SELECT delivery_id FROM old) RETURNING delivery_id, webhook_id, state
   ), attempts AS (
     DELETE FROM webhook_attempts WHERE delivery_id IN (SELECT delivery_id FROM old)
   ), missed AS (
     INSERT INTO webhook_health AS h (webhook_id, gaps)
     SELECT webhook_id, count(*) FROM removed WHERE state = 'pending' GROUP BY webhook_id
     ON CONFLICT (webhook_id) DO UPDATE SET gaps = h.gaps + excluded.gaps
   ) SELECT count(*)::integer AS count FROM removed`,
  // Secrets that sign no more. A new one is there a moment before the event that names it.
  `WITH removed AS (
     DELETE FROM webhook_secrets WHERE secret_id IN (
       SELECT s.secret_id FROM webhook_secrets AS s
        WHERE s.created_at < $1::timestamptz - interval '1 hour' AND NOT EXISTS (
          SELECT FROM webhooks AS w, jsonb_to_recordset(w.secrets) AS named(secret_id text, expires_at timestamptz)
           WHERE w.webhook_id = s.webhook_id AND w.status <> 'deleted' AND named.secret_id = s.secret_id
             AND (named.expires_at IS NULL OR named.expires_at > $1)) LIMIT $2)
     RETURNING secret_id
   ) SELECT count(*)::integer AS count FROM removed`,
]

/** Removes everything that is too old at this time. @returns the number of deliveries and secrets */
export async function removeOld(pool: Pool, now: number, signal: AbortSignal): Promise<number> {
  let total = 0
  for (const text of REMOVALS) {
    for (let count = BATCH; count >= BATCH && !signal.aborted; total += count) {
      const { rows } = await pool.query<{ count: number }>(text, [new Date(now), BATCH])
      count = rows[0]?.count ?? 0
    }
  }
  return total
}
