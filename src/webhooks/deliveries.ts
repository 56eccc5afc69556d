/**
 * The deliveries of webhooks, beside the log: what became of each attempt, and how the receiver of the webhook does. What is
 * delivered follows from the log; the rows say what was not sent yet, and for a while what was.
 */
import type { Context } from '../context.ts'
import type { AttemptView } from './delivery-view.ts'
import type { Line } from './line.ts'
import type { Pending } from './next-deliveries.ts'
import type { Posted } from './post.ts'
import { nextDelayMs } from './retry-schedule.ts'
import { LIVE, MOST_PENDING, MOST_REFUSED, REPLAYED } from './sql.ts'

export type Attempt = {
  readonly delivery: Pending
  readonly posted: Posted
  /** Whether the failure is that of this delivery: the receiver may take others. */
  readonly isRefused: boolean
}

/** How the attempts of a round change the health of the webhook. */
export type Health = { readonly failingSince: Date | null; readonly pausedUntil: Date | null }

/** After a round in which everything failed, nothing is sent for a while, so that a dead receiver costs little. */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 5 * 60_000
/** A line with `MOST_PENDING` deliveries of which none is due is looked at again after this time. */
const REST_MS = 30_000

/** Records a round of attempts, with the health that follows from them. @param ctx its `random` is in [0, 1) */
export async function recordAttempts(
  { pool, clock, random }: Pick<Context, 'pool' | 'clock'> & { readonly random: () => number },
  { webhookId, isReplay }: Line,
  attempts: readonly Attempt[],
): Promise<Health> {
  const now = new Date(clock())
  const records = attempts.map((attempt) => recordOf(attempt, now, random()))
  const refused = attempts.filter(({ isRefused }) => isRefused)
  const down = attempts.filter(({ posted, isRefused }) => posted.outcome !== 'delivered' && !isRefused)
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
      down.length > 0,
      isReplay ? 0 : refused.length,
      isReplay ? [] : [...new Set(refused.map(({ delivery }) => delivery.type))],
      Math.min(LONGEST_PAUSE_MS, Math.max(0, ...down.map(({ posted }) => posted.retryAfterMs ?? 0))) / 1_000,
      attempts.map(({ delivery }) => (delivery.is_asked ? delivery.due_at : null)),
      isReplay,
      isReplay ? refused.length : 0,
    ],
  })
  const [row] = rows
  return { failingSince: row?.failing_since ?? null, pausedUntil: row?.paused_until ?? null }
}

/**
 * Pauses a line with so many deliveries that wait behind others that each look for what is due reads thousands.
 *
 * @returns whether it does
 */
export async function restLine(
  { pool, clock }: Pick<Context, 'pool' | 'clock'>,
  { webhookId, isReplay }: Line,
): Promise<boolean> {
  const { rowCount } = await pool.query({
    name: isReplay ? 'rest_replays' : 'rest_webhook',
    text: `UPDATE webhook_health SET ${isReplay ? 'replays_rest_until' : 'paused_until'} = $2 WHERE webhook_id = $1 AND ${MOST_PENDING} = (
             SELECT count(*) FROM (SELECT FROM webhook_deliveries AS d WHERE d.webhook_id = $1 AND ${isReplay ? REPLAYED : LIVE} LIMIT ${MOST_PENDING}) AS waiting)`,
    values: [webhookId, new Date(clock() + REST_MS)],
  })
  return rowCount === 1
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

/** Whether the webhook fails now: its receiver is down, or has refused so many in a row that it may refuse everything. */
const FAILS = `($9 OR (NOT $14 AND h.refused + $10 >= ${MOST_REFUSED}))`
const PAUSE_S = `least(${LONGEST_PAUSE_MS / 1_000}, ${FIRST_PAUSE_MS / 1_000} * power(2, least(h.failures, 20)))`
/** Those of a first round that was refused count as so many; then one more for each that tries again. */
const REPLAYS_REFUSED = `CASE WHEN NOT $14 THEN h.replays_refused WHEN $8 THEN 0
  WHEN h.replays_refused < ${MOST_REFUSED} THEN least(${MOST_REFUSED}, h.replays_refused + $15) ELSE h.replays_refused + $15 END`
const REST_S = `least(${LONGEST_PAUSE_MS / 1_000}, ${FIRST_PAUSE_MS / 1_000} * power(2, least((${REPLAYS_REFUSED}) - ${MOST_REFUSED}, 20)))`
const after = (seconds: string) => `$6::timestamptz + make_interval(secs => ${seconds})`

/** All but the oldest of so many: each attempt writes the list, and an owner may ask for attempts without end. */
const MOST_ATTEMPTS = 100
const KEPT = `CASE WHEN jsonb_array_length(d.attempt_list) < ${MOST_ATTEMPTS} THEN d.attempt_list ELSE d.attempt_list - 0 END`

/** Its owner asked for the delivery `d` while the attempt `a` was made, which may have begun before the receiver worked. */
const ASKED_AGAIN = `(d.is_asked AND d.due_at IS DISTINCT FROM a.asked_at AND a.state <> 'delivered')`

// Not durable at once: what a crash of the database loses is sent again with the same id. The rows are found by their ids:
// `coalesce` keeps the planner from the indexes of all that is pending.
const RECORD = `WITH hint AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)), changed AS (
    UPDATE webhook_deliveries AS d SET attempts = a.attempt, attempt_list = ${KEPT} || a.made, is_asked = ${ASKED_AGAIN},
           state = CASE WHEN ${ASKED_AGAIN} THEN 'pending' ELSE a.state END, due_at = CASE WHEN ${ASKED_AGAIN} THEN d.due_at ELSE a.due_at END,
           ended_at = CASE WHEN a.state <> 'pending' AND NOT ${ASKED_AGAIN} THEN $6::timestamptz END
      FROM unnest($1::text[], $2::text[], $3::integer[], $4::timestamptz[], $5::jsonb[], $13::timestamptz[])
        AS a(delivery_id, state, attempt, due_at, made, asked_at)
     WHERE d.webhook_id = $7 AND d.delivery_id = ANY ($1) AND d.delivery_id = a.delivery_id AND coalesce(d.state = 'pending', false)
    RETURNING d.state
  ), before AS (
    SELECT failing_since, failures, paused_until, refused, refused_types, replays_refused, replays_rest_until FROM webhook_health WHERE webhook_id = $7 FOR UPDATE
  ), h AS (
    SELECT failing_since, coalesce(failures, 0) AS failures, paused_until, coalesce(refused, 0) AS refused,
           coalesce(refused_types, '{}') AS refused_types, coalesce(replays_refused, 0) AS replays_refused, replays_rest_until FROM hint LEFT JOIN before ON true
  ), next AS (
    SELECT CASE WHEN $8 THEN NULL WHEN ${FAILS} THEN coalesce(h.failing_since, $6) ELSE h.failing_since END AS failing_since,
           CASE WHEN $8 THEN 0 WHEN ${FAILS} THEN h.failures + 1 ELSE h.failures END AS failures,
           CASE WHEN $8 THEN CASE WHEN $12 > 0 THEN ${after('$12')} END
                WHEN ${FAILS} THEN ${after(`greatest($12, ${PAUSE_S})`)} ELSE h.paused_until END AS paused_until,
           CASE WHEN $8 OR $9 THEN 0 ELSE h.refused + $10 END AS refused,
           CASE WHEN $8 THEN '{}' ELSE ARRAY (SELECT DISTINCT unnest(h.refused_types || $11::text[])) END AS refused_types,
           ${REPLAYS_REFUSED} AS replays_refused,
           CASE WHEN NOT $14 THEN h.replays_rest_until WHEN NOT $8 AND $15 > 0 AND h.replays_refused + $15 >= ${MOST_REFUSED} THEN ${after(REST_S)} END AS replays_rest_until
      FROM h
  )
  INSERT INTO webhook_health AS kept (webhook_id, failing_since, failures, paused_until, succeeded_at, gaps, refused, refused_types, replays_refused, replays_rest_until)
  SELECT $7, failing_since, failures, paused_until, CASE WHEN $8 THEN $6::timestamptz END,
         (SELECT count(*) FROM changed WHERE state = 'failed'), refused, refused_types, replays_refused, replays_rest_until FROM next
  ON CONFLICT (webhook_id) DO UPDATE SET failing_since = excluded.failing_since, failures = excluded.failures,
    paused_until = excluded.paused_until, succeeded_at = coalesce(excluded.succeeded_at, kept.succeeded_at),
    gaps = kept.gaps + excluded.gaps, refused = excluded.refused, refused_types = excluded.refused_types,
    replays_refused = excluded.replays_refused, replays_rest_until = excluded.replays_rest_until
  RETURNING failing_since, paused_until`
