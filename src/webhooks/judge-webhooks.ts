/** What is wrong with webhooks, and what to do: for `stuck` and `webhooks`. Pure. */

import { type Finding, step } from '../operator/finding.ts'
import type { Limits } from '../operator/limits.ts'
import { apiRequest, bursar, count, duration } from '../operator/words.ts'
import type { WebhookNow } from './webhooks-now.ts'

/** Its first three attempts have failed by then: a receiver that restarts is not a finding. */
const FAILING_MS = 15 * 60_000
/** The sender disables it after this time without a success. */
const DISABLED_AFTER_MS = 5 * 24 * 60 * 60_000

/** @param senders live sender processes: that there is none is reported already */
export function judgeWebhooks(
  webhooks: readonly WebhookNow[],
  { limits, senders }: { readonly limits: Pick<Limits, 'workMs'>; readonly senders: number },
): Finding[] {
  return webhooks.flatMap((webhook): Finding[] => {
    const { status, disabledReason, failingMs } = webhook
    if (status === 'disabled')
      return disabledReason === 'requested' ? [] : [disabled(webhook, disabledReason === 'gone')]
    if (failingMs !== null) return failingMs > FAILING_MS ? [failing(webhook, failingMs)] : []
    return senders > 0 && isLeft(webhook, limits) ? [notSent(webhook)] : []
  })
}

/** A slow receiver has successes; one that nobody sends to has none. */
function isLeft({ dueMs, succeededMs }: WebhookNow, { workMs }: Pick<Limits, 'workMs'>): boolean {
  return dueMs !== null && dueMs > workMs && (succeededMs === null || succeededMs > workMs)
}

/** `3 events wait, the oldest for 2 h 3 min`. */
function waitingOf({ pending, oldestMs }: WebhookNow): string {
  if (oldestMs === null) return 'no event waits'
  return `${count(pending, 'event')} ${pending === 1 ? 'waits' : 'wait'}, the oldest for ${duration(oldestMs)}`
}

function lastAttempt({ lastStatus, lastError }: WebhookNow): string {
  if (lastError !== null) return `; the last attempt failed: ${lastError}`
  return lastStatus === null ? '' : `; the last attempt was answered with ${lastStatus}`
}

function about(kind: Finding['kind'], { id, tenantId, environment, url }: WebhookNow, problem: string) {
  return { kind, subject: id, problem: `The webhook ${id} (tenant ${tenantId}, ${environment}, ${url}) ${problem}` }
}

function showDeliveries({ id }: WebhookNow) {
  return step(
    'List what waits. The path with a delivery_id added shows its attempts, with the beginning of each response.',
    `curl -s "$URL/v1/webhooks/${id}/deliveries?state=pending" -H "Authorization: Bearer $KEY"`,
  )
}

/** A receiver that answers, and takes nothing. */
function whyFailing(webhook: WebhookNow): string {
  const { lastStatus, refused } = webhook
  return lastStatus === null || refused === 0
    ? lastAttempt(webhook)
    : `; its receiver refuses every event: the last attempt was answered with ${lastStatus}. Its URL may be wrong, or it has another secret`
}

function failing(webhook: WebhookNow, failingMs: number): Finding {
  const left = duration(DISABLED_AFTER_MS - Math.min(failingMs, webhook.changedMs))
  const problem = `has failed for ${duration(failingMs)}${whyFailing(webhook)}. ${waitingOf(webhook)}. It is disabled in ${left} if nothing succeeds.`
  return {
    ...about('webhook_failing', webhook, problem),
    forMs: failingMs,
    next: [
      showDeliveries(webhook),
      step(
        'Inform its tenant. When the receiver works again, each waiting event is sent at its next attempt, within a day.',
      ),
      step('Or send them at once, in order.', apiRequest(`/v1/webhooks/${webhook.id}/enable`)),
    ],
  }
}

function disabled(webhook: WebhookNow, isGone: boolean): Finding {
  const why = isGone ? 'its receiver answered 410' : 'no delivery succeeded for five days'
  return {
    ...about(
      'webhook_disabled',
      webhook,
      `was disabled ${duration(webhook.changedMs)} ago, because ${why}. ${waitingOf(webhook)}.`,
    ),
    forMs: webhook.changedMs,
    next: [
      step(
        'Inform its tenant. When the receiver works, enable the webhook: waiting events are sent in order.',
        apiRequest(`/v1/webhooks/${webhook.id}/enable`),
      ),
      step(
        'If nobody needs it, delete it.',
        `curl -s -X DELETE $URL/v1/webhooks/${webhook.id} -H "Authorization: Bearer $KEY"`,
      ),
    ],
  }
}

function notSent(webhook: WebhookNow): Finding {
  return {
    ...about(
      'webhook_not_sent',
      webhook,
      `does not get its events: ${waitingOf(webhook)}, and no sender has tried since one was due.`,
    ),
    forMs: webhook.dueMs,
    next: [
      step('Read the log of the senders.', 'docker compose logs --since 10m webhook-sender'),
      step('Check whether their jobs wait or have failed.', bursar('queues')),
    ],
  }
}
