/**
 * The deliveries of webhooks, beside the log. What is delivered follows from the log: here is what was not sent yet, and
 * for a while what was.
 *
 * Invariant: of the deliveries of one webhook and one stream, only the first that is pending is sent; so the events of a
 * resource arrive in their order, unless one was given up.
 */
import type { Pool } from 'pg'
import type { Row } from '../event-log/table-rows.ts'
import type { Posted } from './post.ts'
import { nextDelayMs } from './retry-schedule.ts'

export type Pending = Pick<Row<'webhook_deliveries'>, 'delivery_id' | 'event_id' | 'attempts'>

export type Attempt = { readonly delivery: Pending; readonly posted: Posted }

/** How the attempts of a round change the health of the webhook. */
export type Health = { readonly failingSince: Date | null; readonly pausedUntil: Date | null }

export type Deliveries = {
  /** Those that are due, in the order of the log, one of each stream. */
  readonly next: (webhookId: string, limit: number) => Promise<readonly Pending[]>
  /** Records a round of attempts, with the health that follows from them. */
  readonly record: (webhookId: string, attempts: readonly Attempt[]) => Promise<Health>
}

/** After a round in which everything failed, nothing is sent for a while, so that a dead receiver costs little. */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 5 * 60_000

export function createDeliveries({
  pool,
  clock,
  random,
}: {
  readonly pool: Pool
  readonly clock: () => number
  /** In [0, 1). */
  readonly random: () => number
}): Deliveries {
  return {
    async next(webhookId, limit) {
      const { rows } = await pool.query<Pending>({
        name: 'next_deliveries',
        // Not NOT EXISTS: the planner would join all that is pending with itself.
        text: `SELECT d.delivery_id, d.event_id, d.attempts FROM webhook_deliveries AS d
                WHERE d.webhook_id = $1 AND d.state = 'pending' AND d.due_at <= $3 AND d.delivery_id = (
                  SELECT earliest.delivery_id FROM webhook_deliveries AS earliest
                   WHERE earliest.webhook_id = d.webhook_id AND earliest.stream_id = d.stream_id AND earliest.state = 'pending'
                   ORDER BY earliest.transaction_id, earliest.position, earliest.part LIMIT 1)
                ORDER BY d.transaction_id, d.position, d.part LIMIT $2`,
        values: [webhookId, limit, new Date(clock())],
      })
      return rows
    },

    async record(webhookId, attempts) {
      const now = new Date(clock())
      const ended = attempts.map(({ delivery, posted }) => endOf(delivery, posted, now, random()))
      const { rows } = await pool.query<{ failing_since: Date | null; paused_until: Date | null }>({
        name: 'record_attempts',
        text: RECORD,
        values: [
          attempts.map(({ delivery }) => delivery.delivery_id),
          attempts.map(({ delivery }) => delivery.attempts + 1),
          attempts.map(({ posted }) => posted.outcome),
          attempts.map(({ posted }) => posted.status),
          attempts.map(({ posted }) => posted.error),
          attempts.map(({ posted }) => posted.response),
          attempts.map(({ posted }) => posted.durationMs),
          ended.map(({ state }) => state),
          ended.map(({ dueAt }) => dueAt),
          now,
          webhookId,
          attempts.some(({ posted }) => posted.outcome === 'delivered'),
          FIRST_PAUSE_MS,
          LONGEST_PAUSE_MS,
        ],
      })
      const [row] = rows
      return { failingSince: row?.failing_since ?? null, pausedUntil: row?.paused_until ?? null }
    },
  }
}

function endOf(
  { attempts }: Pending,
  { outcome, retryAfterMs }: Posted,
  now: Date,
  chance: number,
): { readonly state: 'delivered' | 'pending' | 'failed'; readonly dueAt: Date } {
  if (outcome === 'delivered') return { state: 'delivered', dueAt: now }
  const delay = nextDelayMs(attempts + 1, retryAfterMs, chance)
  return delay === null ? { state: 'failed', dueAt: now } : { state: 'pending', dueAt: new Date(now.getTime() + delay) }
}

// Not durable at once: what a crash of the database loses is sent again with the same id.
const RECORD = `WITH hint AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)), attempted AS (
    SELECT * FROM unnest($1::text[], $2::integer[], $3::text[], $4::integer[], $5::text[], $6::text[], $7::integer[], $8::text[], $9::timestamptz[])
      AS a(delivery_id, attempt, outcome, status, error, response, duration_ms, state, due_at)
  ), kept AS (
    INSERT INTO webhook_attempts (delivery_id, attempt, at, outcome, status, error, response, duration_ms)
    SELECT delivery_id, attempt, $10, outcome, status, error, response, duration_ms FROM attempted
    ON CONFLICT DO NOTHING
  ), changed AS (
    UPDATE webhook_deliveries AS d SET state = a.state, attempts = a.attempt, due_at = a.due_at,
           ended_at = CASE WHEN a.state <> 'pending' THEN $10::timestamptz END
      FROM attempted AS a WHERE d.delivery_id = a.delivery_id AND d.state = 'pending'
    RETURNING d.state
  )
  INSERT INTO webhook_health AS h (webhook_id, failing_since, failures, paused_until, succeeded_at, gaps)
  SELECT $11, CASE WHEN NOT $12 THEN $10::timestamptz END, CASE WHEN $12 THEN 0 ELSE 1 END,
         CASE WHEN NOT $12 THEN $10::timestamptz + make_interval(secs => $13 / 1000.0) END,
         CASE WHEN $12 THEN $10::timestamptz END, (SELECT count(*) FROM changed WHERE state = 'failed') FROM hint
  ON CONFLICT (webhook_id) DO UPDATE SET
    failing_since = CASE WHEN NOT $12 THEN coalesce(h.failing_since, $10) END,
    failures = CASE WHEN $12 THEN 0 ELSE h.failures + 1 END,
    paused_until = CASE WHEN NOT $12 THEN $10::timestamptz + make_interval(secs => least($14, $13 * power(2, least(h.failures, 20))) / 1000.0) END,
    succeeded_at = coalesce(excluded.succeeded_at, h.succeeded_at),
    gaps = h.gaps + excluded.gaps
  RETURNING failing_since, paused_until`
