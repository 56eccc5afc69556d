/** What operators have for webhooks: their commands, and what `stuck` finds. */
import { once } from 'node:events'
import type { FindingSource, InHelp, Opens, ServiceNow, ToldFacts } from '../operator/for-operators.ts'
import { liveOf } from '../operator/stuck/judge-service.ts'
import { judgeReplays } from './judge-replays.ts'
import { judgeWebhooks } from './judge-webhooks.ts'
import { listenCommand } from './listen-command.ts'
import { webhooksCommand } from './webhooks-command.ts'
import { readWebhooksNow, WEBHOOK_SENDER, type WebhooksNow } from './webhooks-now.ts'

export function commands({ reporting }: Opens): readonly InHelp[] {
  const untilStopped = async () => void (await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]))
  return [
    { place: 20, command: webhooksCommand(reporting) },
    { place: 50, command: listenCommand({ clock: Date.now, untilStopped }) },
  ]
}

export const findings: readonly FindingSource[] = [
  { place: 110, read: async ({ pool }) => webhookFacts(await readWebhooksNow(pool)) },
]

/** A sender is needed while there is a webhook. Without one their subscription does not read, and it begins at the first. */
export function webhookFacts({ webhooks, replays, subscription, lagMs }: WebhooksNow): ToldFacts {
  return {
    reader: { process: WEBHOOK_SENDER, isNeeded: webhooks.length > 0, delivers: 'webhooks', subscription, lagMs },
    judge({ processes, limits }: ServiceNow) {
      const senders = liveOf(processes, WEBHOOK_SENDER)
      return [...judgeWebhooks(webhooks, { limits, senders }), ...judgeReplays({ webhooks, replays }, senders)]
    },
  }
}
