/** How all webhooks do, for the operator: what waits, since when, and why. Read only. */
import type { Pool } from 'pg'
import { CHECKPOINTS, EVENTS } from '../event-log/sql.ts'
import { FAN_OUT } from './fan-out.ts'
import { IS_EXPIRED, isNext, MOST_PENDING, PENDING, REPLAY_EXPIRES_AFTER_DAYS, TRIED } from './sql.ts'

/** How a webhook does. Times are ms up to now. */
export type WebhookNow = {
  readonly id: string
  readonly tenantId: string
  readonly environment: string
  readonly url: string
  readonly status: 'enabled' | 'disabled'
  /** `null` while it is enabled. */
  readonly disabledReason: 'gone' | 'failing' | 'requested' | null
  /** Since it was created, changed, enabled or disabled. */
  readonly changedMs: number
  /** Events that wait. */
  readonly pending: number
  /** Since the oldest of them was queued; `null` without one. */
  readonly oldestMs: number | null
  /** Since one could have been sent; `null` without one. */
  readonly dueMs: number | null
  /** Since the first failure after the last success; `null` while they succeed. */
  readonly failingMs: number | null
  readonly succeededMs: number | null
  /** Deliveries that its receiver refused in a row; 0 while it takes some, or does not answer. */
  readonly refused: number
  /** Deliveries that were given up. */
  readonly gaps: number
  /** The newest attempt since it fails: its HTTP status, or why there was no response. */
  readonly lastStatus: number | null
  readonly lastError: string | null
}

/** A replay that is not complete. Times are ms up to now. */
export type ReplayNow = {
  readonly id: string
  readonly webhookId: string
  /** `waits_for_receiver`: as many deliveries are pending as may be. `expired`: nobody began it, and nobody will. */
  readonly state: 'running' | 'waits_for_receiver' | 'waits_until_enabled' | 'expired'
  /** Deliveries that it has queued. */
  readonly added: number
  readonly requestedMs: number
  /** Since it last got further, or else since its request. */
  readonly idleMs: number
}

export type WebhooksNow = {
  /** The name of the subscription that decides what is sent. */
  readonly subscription: string
  /** Since the oldest event was recorded that it could have read; 0 if it read all, or there is no webhook. */
  readonly lagMs: number
  /** Those with a problem first. */
  readonly webhooks: readonly WebhookNow[]
  /** Of these webhooks, oldest first. Expired ones are left out after another week. */
  readonly replays: readonly ReplayNow[]
}

/** More waiting deliveries are not counted. */
const MAX_COUNTED = MOST_PENDING
/** The process that sends to them. */
export const WEBHOOK_SENDER = 'webhook-sender'
const MAX_WEBHOOKS = 500
const MAX_REPLAYS = 500
const age = (since: string) => `extract(epoch FROM clock_timestamp() - ${since})::double precision * 1000`
const WAITING = `FROM webhook_deliveries AS d WHERE d.webhook_id = w.webhook_id AND ${PENDING}`

const NOW = `
  SELECT w.webhook_id AS id, w.tenant_id AS "tenantId", w.environment, w.url, w.status, w.disabled_reason AS "disabledReason",
         ${age('w.updated_at')} AS "changedMs", waiting.count AS pending, ${age('oldest.created_at')} AS "oldestMs",
         ${age('due.due_at')} AS "dueMs", ${age('h.failing_since')} AS "failingMs", ${age('h.succeeded_at')} AS "succeededMs",
         coalesce(h.refused, 0) AS refused, coalesce(h.gaps, 0)::integer AS gaps, last.status AS "lastStatus", last.error AS "lastError"
    FROM webhooks AS w LEFT JOIN webhook_health AS h USING (webhook_id)
    CROSS JOIN LATERAL (SELECT count(*)::integer FROM (SELECT ${WAITING} LIMIT ${MAX_COUNTED}) AS counted) AS waiting
    LEFT JOIN LATERAL (SELECT d.created_at ${WAITING} ORDER BY d.created_at LIMIT 1) AS oldest ON true
    LEFT JOIN LATERAL (SELECT d.due_at ${WAITING} AND ${isNext('clock_timestamp()')}
      ORDER BY d.transaction_id, d.position, d.part LIMIT 1) AS due ON true
    LEFT JOIN LATERAL (SELECT (a.made ->> 'status')::integer AS status, a.made ->> 'error' AS error
        FROM (SELECT d.attempt_list -> -1 AS made ${WAITING} AND ${TRIED}) AS a
       WHERE (a.made ->> 'at')::timestamptz >= h.failing_since ORDER BY a.made ->> 'at' DESC LIMIT 1) AS last ON true
   WHERE w.status <> 'deleted'
   ORDER BY coalesce(w.disabled_reason, 'requested') = 'requested', h.failing_since, w.webhook_id LIMIT ${MAX_WEBHOOKS}`

/** Events before the first webhook concern nobody, and without a webhook nothing is read. */
const LAG = `
  SELECT ${age('unread.recorded_at')} AS ms
    FROM (SELECT e.transaction_id, e.position FROM webhooks AS w JOIN ${EVENTS} AS e
              ON e.stream_id = 'webhook-' || w.webhook_id AND e.stream_version = 1
           WHERE w.status <> 'deleted' ORDER BY e.transaction_id, e.position LIMIT 1) AS first
    CROSS JOIN LATERAL (SELECT * FROM (SELECT first.transaction_id, first.position UNION ALL
           SELECT c.transaction_id, c.position FROM ${CHECKPOINTS} AS c WHERE c.name = $1) AS places
           ORDER BY transaction_id DESC, position DESC LIMIT 1) AS place
    CROSS JOIN LATERAL (SELECT e.recorded_at FROM ${EVENTS} AS e
           WHERE (e.transaction_id, e.position) > (place.transaction_id, place.position)
             AND e.transaction_id < pg_snapshot_xmin(pg_current_snapshot())
           ORDER BY e.transaction_id, e.position LIMIT 1) AS unread`

type OpenReplay = Omit<ReplayNow, 'state'> & { readonly isExpired: boolean }

const REPLAYS = `
  SELECT r.replay_id AS id, r.webhook_id AS "webhookId", ${IS_EXPIRED} AS "isExpired", coalesce(p.added, 0)::integer AS added,
         ${age('r.requested_at')} AS "requestedMs", ${age('coalesce(p.advanced_at, r.requested_at)')} AS "idleMs"
    FROM webhook_replays AS r LEFT JOIN webhook_replay_progress AS p USING (replay_id)
   WHERE p.ended_at IS NULL
     AND (p.replay_id IS NOT NULL OR r.requested_at > now() - interval '${2 * REPLAY_EXPIRES_AFTER_DAYS * 24} hours')
   ORDER BY r.replay_id LIMIT ${MAX_REPLAYS}`

export async function readWebhooksNow(pool: Pool): Promise<WebhooksNow> {
  const [{ rows: webhooks }, replays, lag] = await Promise.all([
    pool.query<WebhookNow>({ name: 'webhooks_now', text: NOW }),
    pool.query<OpenReplay>({ name: 'webhook_replays_now', text: REPLAYS }),
    pool.query<{ ms: number }>({ name: 'webhooks_lag', text: LAG, values: [FAN_OUT] }),
  ])
  return {
    subscription: FAN_OUT,
    lagMs: lag.rows[0]?.ms ?? 0,
    webhooks,
    replays: replays.rows.flatMap((replay) => {
      const webhook = webhooks.find(({ id }) => id === replay.webhookId)
      return webhook === undefined ? [] : [toReplayNow(replay, webhook)]
    }),
  }
}

function toReplayNow({ isExpired, ...replay }: OpenReplay, { status, pending }: WebhookNow): ReplayNow {
  if (isExpired) return { ...replay, state: 'expired' }
  if (status === 'disabled') return { ...replay, state: 'waits_until_enabled' }
  return { ...replay, state: pending >= MOST_PENDING ? 'waits_for_receiver' : 'running' }
}
