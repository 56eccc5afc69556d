/** `webhooks`: all webhooks, what waits for them, and what to do about those that do not get it. */
import type { CliCommand, Within } from '../cli/command.ts'
import { shown } from '../cli/printed.ts'
import type { Context } from '../context.ts'
import { findingJson } from '../operator/finding.ts'
import { limitsOf } from '../operator/limits.ts'
import { liveOf } from '../operator/stuck/judge-service.ts'
import { readProcesses } from '../operator/stuck/service-facts.ts'
import { describeFinding } from '../operator/stuck/stuck-command.ts'
import { duration } from '../operator/words.ts'
import { judgeReplays } from './judge-replays.ts'
import { judgeWebhooks } from './judge-webhooks.ts'
import { type ReplayNow, readWebhooksNow, WEBHOOK_SENDER, type WebhookNow } from './webhooks-now.ts'

const HEAD = ['webhook', 'tenant', 'environment', 'state', 'waiting', 'oldest', 'gaps', 'last success', 'url']
const REPLAYS_HEAD = ['replay', 'webhook', 'state', 'queued', 'requested', 'last progress']

export function webhooksCommand(within: Within<Pick<Context, 'pool' | 'config'>>): CliCommand {
  return {
    name: 'webhooks',
    summary: 'the webhooks of all tenants: state, what waits, failures',
    details: `Reads only. Lists at most 500 webhooks, those with a problem first; deleted ones are left out. At most 10,000 waiting events are
counted for each. gaps: deliveries that were given up after ten attempts. Replays that are not complete follow in a table of their
own. Exit code 0: no problem; 1: a webhook is failing, was disabled by the senders, or does not get its events, or a replay
has stopped or expired.

JSON: {"lag_ms", "webhooks": [{"webhook_id", "tenant_id", "environment", "url", "state", "waiting", "oldest_ms", "gaps",
"failing_ms", "last_success_ms", "last_status", "last_error"}], "replays": [{"replay_id", "webhook_id", "state", "queued",
"requested_ms", "idle_ms"}], "findings": as those of stuck}. idle_ms: since the last progress. lag_ms: age of the oldest event of
the log for which it is not decided yet who gets it.`,
    run: (_input, io) =>
      within(async ({ pool, config }) => {
        const [{ webhooks, replays, lagMs }, processes] = await Promise.all([
          readWebhooksNow(pool),
          readProcesses(pool),
        ])
        const senders = liveOf(processes, WEBHOOK_SENDER)
        const findings = [
          ...judgeWebhooks(webhooks, { limits: limitsOf(config), senders }),
          ...judgeReplays({ webhooks, replays }, senders),
        ]
        const replaying = replays.length === 0 ? '' : `\n${io.table(REPLAYS_HEAD, shown(replays).map(replayRowOf))}`
        const table = `${io.table(HEAD, shown(webhooks).map(rowOf))}${replaying}`
        const sending = senders > 0 || webhooks.length === 0 ? '' : '\nno webhook-sender is running: nothing is sent\n'
        const parts = shown(findings).map((finding) => `\n${describeFinding(finding, io.paint)}`)
        const text = webhooks.length === 0 ? 'no webhooks\n' : `${table}${lagLine(lagMs)}${sending}${parts.join('')}`
        const given = {
          lag_ms: Math.round(lagMs),
          webhooks: webhooks.map(toJson),
          replays: replays.map(replayToJson),
          findings: findings.map(findingJson),
        }
        io.print(given, text)
        return findings.length > 0 || sending !== '' ? 1 : 0
      }),
  }
}

function lagLine(lagMs: number): string {
  return lagMs === 0 ? '' : `\nthe log is read up to ${duration(lagMs)} ago\n`
}

function stateOf({ status, disabledReason, failingMs }: WebhookNow): string {
  if (status === 'disabled') return `disabled (${disabledReason})`
  return failingMs === null ? 'enabled' : `failing for ${duration(failingMs)}`
}

function rowOf(webhook: WebhookNow): readonly string[] {
  const { id, tenantId, environment, pending, oldestMs, gaps, succeededMs, url } = webhook
  const ago = succeededMs === null ? 'never' : `${duration(succeededMs)} ago`
  const oldest = oldestMs === null ? '-' : duration(oldestMs)
  return [id, tenantId, environment, stateOf(webhook), String(pending), oldest, String(gaps), ago, url]
}

function replayRowOf({ id, webhookId, state, added, requestedMs, idleMs }: ReplayNow): readonly string[] {
  const progress = state === 'expired' ? 'never' : `${duration(idleMs)} ago`
  return [id, webhookId, state.replaceAll('_', ' '), String(added), `${duration(requestedMs)} ago`, progress]
}

function replayToJson({ id, webhookId, state, added, requestedMs, idleMs }: ReplayNow) {
  return {
    replay_id: id,
    webhook_id: webhookId,
    state,
    queued: added,
    requested_ms: Math.round(requestedMs),
    idle_ms: Math.round(idleMs),
  }
}

function toJson(webhook: WebhookNow) {
  const { id, tenantId, environment, url, pending, oldestMs, gaps, failingMs, succeededMs, lastStatus, lastError } =
    webhook
  const rounded = (ms: number | null) => (ms === null ? null : Math.round(ms))
  return {
    webhook_id: id,
    tenant_id: tenantId,
    environment,
    url,
    state: webhook.disabledReason ?? webhook.status,
    waiting: pending,
    oldest_ms: rounded(oldestMs),
    gaps,
    failing_ms: rounded(failingMs),
    last_success_ms: rounded(succeededMs),
    last_status: lastStatus,
    last_error: lastError,
  }
}
