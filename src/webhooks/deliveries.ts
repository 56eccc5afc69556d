/**
 * The deliveries of webhooks, beside the log. What is delivered follows from the log: here is what was not sent yet, and
 * for a while what was.
 *
 * Invariant: of the deliveries of one webhook and one stream, one is sent only after all before it have ended; so the
 * events of a resource arrive in their order, unless one was given up.
 */
import type { Pool } from 'pg'
import type { Row } from '../event-log/table-rows.ts'
import type { AttemptView } from './delivery-view.ts'
import type { Posted } from './post.ts'
import { nextDelayMs } from './retry-schedule.ts'
import { isNext, MOST_PENDING, PENDING } from './sql.ts'

export type Pending = Pick<Row<'webhook_deliveries'>, 'delivery_id' | 'event_id' | 'stream_id' | 'attempts'>

export type Attempt = { readonly delivery: Pending; readonly posted: Posted }

/** How the attempts of a round change the health of the webhook. */
export type Health = { readonly failingSince: Date | null; readonly pausedUntil: Date | null }

export type Deliveries = {
  /** Those that are due, in the order of the log. None follows in its stream on one that is not due. */
  readonly next: (webhookId: string, limit: number) => Promise<readonly Pending[]>
  /** Records a round of attempts, with the health that follows from them. */
  readonly record: (webhookId: string, attempts: readonly Attempt[]) => Promise<Health>
  /**
   * Pauses a webhook with so many deliveries that wait behind others that each look for what is due reads thousands.
   * @returns whether it does
   */
  readonly rest: (webhookId: string) => Promise<boolean>
}

/** After a round in which everything failed, nothing is sent for a while, so that a dead receiver costs little. */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 5 * 60_000
/** A webhook with `MOST_PENDING` deliveries of which none is due is looked at again after this time. */
const REST_MS = 30_000

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
        text: `SELECT d.delivery_id, d.event_id, d.stream_id, d.attempts FROM webhook_deliveries AS d
                WHERE d.webhook_id = $1 AND ${isNext('$3')} ORDER BY d.transaction_id, d.position, d.part LIMIT $2`,
        values: [webhookId, limit, new Date(clock())],
      })
      return rows
    },

    async record(webhookId, attempts) {
      const now = new Date(clock())
      const records = attempts.map((attempt) => recordOf(attempt, now, random()))
      const { rows } = await pool.query<{ failing_since: Date | null; paused_until: Date | null }>({
        name: 'record_attempts',
        text: RECORD,
        values: [
          records.map(({ deliveryId }) => deliveryId),
          records.map(({ state }) => state),
          records.map(({ made }) => made.attempt),
          records.map(({ dueAt }) => dueAt),
          records.map(({ made }) => JSON.stringify(made)),
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

    async rest(webhookId) {
      const { rowCount } = await pool.query({
        name: 'rest_webhook',
        text: `UPDATE webhook_health SET paused_until = $2 WHERE webhook_id = $1 AND ${MOST_PENDING} = (
                 SELECT count(*) FROM (SELECT FROM webhook_deliveries AS d WHERE d.webhook_id = $1 AND ${PENDING} LIMIT ${MOST_PENDING}) AS waiting)`,
        values: [webhookId, new Date(clock() + REST_MS)],
      })
      return rowCount === 1
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

function recordOf({ delivery, posted }: Attempt, now: Date, chance: number) {
  const { outcome, status, error, response, durationMs } = posted
  const attempt = delivery.attempts + 1
  const made: AttemptView = {
    attempt,
    at: now.toISOString(),
    outcome,
    status,
    error,
    response,
    duration_ms: durationMs,
  }
  return { deliveryId: delivery.delivery_id, made, ...endOf(delivery, posted, now, chance) }
}

// Not durable at once: what a crash of the database loses is sent again with the same id. The rows are found by their ids:
// `coalesce` keeps the planner from the indexes of all that is pending.
const RECORD = `WITH hint AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)), changed AS (
    UPDATE webhook_deliveries AS d SET state = a.state, attempts = a.attempt, due_at = a.due_at,
           ended_at = CASE WHEN a.state <> 'pending' THEN $6::timestamptz END, attempt_list = d.attempt_list || a.made
      FROM unnest($1::text[], $2::text[], $3::integer[], $4::timestamptz[], $5::jsonb[]) AS a(delivery_id, state, attempt, due_at, made)
     WHERE d.webhook_id = $7 AND d.delivery_id = ANY ($1) AND d.delivery_id = a.delivery_id AND coalesce(d.state = 'pending', false)
    RETURNING d.state
  )
  INSERT INTO webhook_health AS h (webhook_id, failing_since, failures, paused_until, succeeded_at, gaps)
  SELECT $7, CASE WHEN NOT $8 THEN $6::timestamptz END, CASE WHEN $8 THEN 0 ELSE 1 END,
         CASE WHEN NOT $8 THEN $6::timestamptz + make_interval(secs => $9 / 1000.0) END,
         CASE WHEN $8 THEN $6::timestamptz END, (SELECT count(*) FROM changed WHERE state = 'failed') FROM hint
  ON CONFLICT (webhook_id) DO UPDATE SET
    failing_since = CASE WHEN NOT $8 THEN coalesce(h.failing_since, $6) END,
    failures = CASE WHEN $8 THEN 0 ELSE h.failures + 1 END,
    paused_until = CASE WHEN NOT $8 THEN $6::timestamptz + make_interval(secs => least($10, $9 * power(2, least(h.failures, 20))) / 1000.0) END,
    succeeded_at = coalesce(excluded.succeeded_at, h.succeeded_at),
    gaps = h.gaps + excluded.gaps
  RETURNING failing_since, paused_until`
