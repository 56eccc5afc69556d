/** What is wrong with replays of webhooks, and what to do: for `stuck` and `webhooks`. Pure. */

import { type Finding, step } from '../operator/finding.ts'
import { apiRequest, duration } from '../operator/words.ts'
import type { ReplayNow, WebhookNow, WebhooksNow } from './webhooks-now.ts'

/** A part of a replay takes a second: a sender that restarts is not a finding. */
const STOPPED_MS = 5 * 60_000

/** @param senders live sender processes: that there is none is reported already */
export function judgeReplays(
  { webhooks, replays }: Pick<WebhooksNow, 'webhooks' | 'replays'>,
  senders: number,
): Finding[] {
  return replays.flatMap((replay): Finding[] => {
    const webhook = webhooks.find(({ id }) => id === replay.webhookId)
    if (webhook === undefined) return []
    if (replay.state === 'expired') return [expired(replay, webhook)]
    return replay.state === 'running' && replay.idleMs > STOPPED_MS && senders > 0 ? [stopped(replay, webhook)] : []
  })
}

function nameOf({ id }: ReplayNow, { id: webhookId, tenantId, environment }: WebhookNow): string {
  return `The replay ${id} of the webhook ${webhookId} (tenant ${tenantId}, ${environment})`
}

function stopped(replay: ReplayNow, webhook: WebhookNow): Finding {
  const { id: subject, idleMs, added } = replay
  return {
    kind: 'webhook_replay_stopped',
    subject,
    problem: `${nameOf(replay, webhook)} has made no progress for ${duration(idleMs)}. Deliveries queued so far: ${added}.`,
    forMs: idleMs,
    next: [
      step(
        'Read the log of the senders: the one that leads logs why.',
        'docker compose logs --since 10m webhook-sender',
      ),
    ],
  }
}

function expired(replay: ReplayNow, webhook: WebhookNow): Finding {
  const { id: subject, requestedMs } = replay
  const requested = `was requested ${duration(requestedMs)} ago and has expired, because no sender began it within seven days.`
  return {
    kind: 'webhook_replay_expired',
    subject,
    problem: `${nameOf(replay, webhook)} ${requested} Nothing of it was sent.`,
    forMs: requestedMs,
    next: [
      step(
        'See its range.',
        `curl -s $URL/v1/webhooks/${webhook.id}/replays/${subject} -H "Authorization: Bearer $KEY"`,
      ),
      step(
        'If its tenant still needs the events, request them again.',
        apiRequest(`/v1/webhooks/${webhook.id}/replay`),
      ),
    ],
  }
}
