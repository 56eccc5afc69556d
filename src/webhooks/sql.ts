/** SQL about the tables of webhooks, for every folder that reads them. */
import type { WebhookStatus } from './decider.ts'

/** Was not deleted. */
export const KNOWN = `status <> '${'deleted' satisfies WebhookStatus}'`

/** A delivery that is still to be sent. */
export const PENDING = `state = 'pending'`

/** Of these, one that failed before: it is not due before its time, and holds back the later events of its resource. */
export const TRIED = `${PENDING} AND attempts > 0`

/** Of these, an event as it happened, or one of a replay: neither line reads past the other. */
export const LIVE = `${PENDING} AND replay_id IS NULL`
export const REPLAYED = `${PENDING} AND replay_id IS NOT NULL`

/** The public event that a delivery was given up. None says so of its own deliveries: it would cause itself. */
export const DELIVERY_FAILED = 'webhook.delivery_failed'

/** A delivery that was given up, of which no event says so yet. */
export const UNTOLD = `state = 'failed' AND told_attempts < attempts AND type <> '${DELIVERY_FAILED}'`

/** Is due at a time, an expression of SQL. */
export const isDue = (time: string) => `${PENDING} AND (attempts = 0 OR due_at <= ${time})`

/**
 * The delivery `d` is due, and no earlier one of its resource that failed before is pending: live events and replays apart.
 * Not NOT EXISTS: the planner would join all that is pending with itself.
 */
export const isNext = (time: string) => `${isDue(time)} AND ${IS_FIRST}`

const IS_FIRST = `(
  SELECT waiting.delivery_id FROM webhook_deliveries AS waiting
   WHERE waiting.webhook_id = d.webhook_id AND waiting.stream_id = d.stream_id AND ${TRIED}
     AND (waiting.replay_id IS NULL) = (d.replay_id IS NULL)
     AND (waiting.transaction_id, waiting.position, waiting.part) < (d.transaction_id, d.position, d.part) LIMIT 1) IS NULL`

/** To be sent at once, even if the webhook pauses or earlier ones wait: the owner asked for it, or for a test. */
export const ASKED = `${PENDING} AND (is_asked OR (type = 'webhook.test' AND attempts = 0))`

/** After so many refusals in a row, without a success, the receiver is taken to refuse everything. */
export const MOST_REFUSED = 8

/** A delivery of a type that the webhook `h`, which refuses everything that it was sent, was not sent yet. */
export const isUntried = (health: string) => `${LIVE} AND attempts = 0 AND type <> ALL (${health}.refused_types)`

/** How many webhooks the tenant `$1` has. */
export const WEBHOOKS_OF_TENANT = `SELECT count(*) FROM webhooks WHERE tenant_id = $1 AND ${KNOWN}`

/** A replay that no sender has begun by then is not carried out: the log may have come from another installation. */
export const REPLAY_EXPIRES_AFTER_DAYS = 7

/** Above this number of pending deliveries of its webhook, a replay waits: its receiver is slower than the log. */
export const MOST_PENDING = 10_000

/** Whether a replay `r` with the progress `p`, or without any, is not carried out any more. */
export const IS_EXPIRED = `(p.replay_id IS NULL AND r.requested_at <= now() - interval '${REPLAY_EXPIRES_AFTER_DAYS * 24} hours')`
