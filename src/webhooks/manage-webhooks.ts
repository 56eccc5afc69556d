/**
 * Creates and changes the webhooks of a tenant. A secret is in no event: what a request returns of it cannot be returned
 * again, so a repeated request returns the webhook without its secret.
 */
import { NotFound } from '../core/errors.ts'
import { toInstant } from '../core/ids.ts'
import type { Metadata } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import type { NewId } from '../declarations.ts'
import type { Accept, Accepted } from '../event-log/accept.ts'
import { opened } from '../event-log/aggregate.ts'
import type { EventLog } from '../event-log/log.ts'
import { webhookAggregate } from './aggregate.ts'
import type { WebhookCommand } from './decider.ts'
import type { SignatureVersion, WebhookTerms } from './events.ts'
import { requireReceiverUrl, type UrlRules } from './receiver-url.ts'
import { createSecret, type SecretStore } from './secrets.ts'

const HOUR_MS = 3_600_000

export type NewWebhook = WebhookTerms & {
  readonly environment: Environment
  readonly signatures: readonly SignatureVersion[]
}

/** What the response shows once: `null` in the response to a repeated request. */
export type ShownSecret = { readonly secret: string; readonly publicKey: string | null } | null

export type ManagePorts = {
  readonly log: EventLog
  readonly accept: Accept
  readonly newId: NewId
  readonly urlRules: UrlRules
  readonly secrets: SecretStore
}

export type ManageWebhooks = {
  /** @throws ValidationFailed for the URL; IdempotencyKeyReused; Unavailable `webhooks_not_configured` */
  readonly create: (webhook: NewWebhook, metadata: Metadata) => Promise<Accepted<ShownSecret>>
  /** Fields that are missing do not change. @throws ValidationFailed for the URL; NotFound for a deleted webhook */
  readonly change: (webhookId: string, change: Partial<WebhookTerms>, metadata: Metadata) => Promise<void>
  /**
   * A new secret; the one before signs as well for some hours. @throws NotFound
   */
  readonly rotate: (webhookId: string, overlapHours: number, metadata: Metadata) => Promise<ShownSecret>
  /** Deliveries that wait are sent from now on. @throws NotFound */
  readonly enable: (webhookId: string, metadata: Metadata) => Promise<void>
  readonly disable: (webhookId: string, metadata: Metadata) => Promise<void>
  /** What is not sent yet will not be sent. @throws NotFound */
  readonly remove: (webhookId: string, metadata: Metadata) => Promise<void>
}

export function createManageWebhooks(ports: ManagePorts): ManageWebhooks {
  const { log, accept, newId, urlRules, secrets } = ports
  const execute = async (webhookId: string, command: WebhookCommand, metadata: Metadata) => {
    await log.execute(webhookAggregate, webhookId, command, { metadata })
  }
  return {
    create: (terms, metadata) =>
      accept(
        metadata,
        async (append) => {
          const url = requireReceiverUrl(terms.url, urlRules)
          const id = newId('webhook')
          const now = log.now()
          const { secret, publicKey, plaintext } = createSecret(terms.signatures)
          // Before the event: a webhook without a secret could not send, and a secret without a webhook is nothing.
          await secrets.add(id, plaintext, now)
          const command = { type: 'CreateWebhook', webhook: { ...terms, url, publicKey, createdAt: now } } as const
          const changes = [opened(webhookAggregate, id, command, { metadata, now })]
          return append({ id, commit: { changes }, made: { secret, publicKey } })
        },
        { replayFirst: true },
      ),

    change: (webhookId, change, metadata) => {
      const checked = change.url === undefined ? change : { ...change, url: requireReceiverUrl(change.url, urlRules) }
      return execute(webhookId, { type: 'ChangeWebhook', change: checked, now: log.now() }, metadata)
    },

    async rotate(webhookId, overlapHours, metadata) {
      const { state } = await log.load(webhookAggregate, webhookId)
      if (state.status === 'unknown' || state.status === 'deleted') throw new NotFound('webhook')
      const now = log.now()
      const overlapEndsAt = toInstant(Date.parse(now) + overlapHours * HOUR_MS)
      const { secret, publicKey, plaintext } = createSecret(state.signatures)
      await secrets.add(webhookId, plaintext, now, overlapEndsAt)
      await execute(webhookId, { type: 'RotateSecret', publicKey, overlapEndsAt, now }, metadata)
      return { secret, publicKey }
    },

    enable: (webhookId, metadata) => execute(webhookId, { type: 'EnableWebhook', now: log.now() }, metadata),
    disable: (webhookId, metadata) =>
      execute(webhookId, { type: 'DisableWebhook', reason: 'requested', now: log.now() }, metadata),
    remove: (webhookId, metadata) => execute(webhookId, { type: 'DeleteWebhook', now: log.now() }, metadata),
  }
}
