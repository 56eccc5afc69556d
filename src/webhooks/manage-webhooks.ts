/**
 * Creates and changes the webhooks of a tenant. A secret is in no event: what a request returns of it cannot be returned
 * again, so a repeated request returns the webhook without its secret.
 */
import { NotFound } from '../core/errors.ts'
import { toInstant } from '../core/ids.ts'
import type { Metadata } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import type { NewId } from '../declarations.ts'
import { type Accept, type Accepted, acceptChange, type ChangeTarget } from '../event-log/accept.ts'
import { change, opened } from '../event-log/aggregate.ts'
import type { EventLog } from '../event-log/log.ts'
import { webhookAggregate } from './aggregate.ts'
import type { SignatureVersion, WebhookTerms } from './events.ts'
import {
  everSent,
  type Reader,
  type RequireReadable,
  type RequireTerms,
  requireSignatures,
  termsOf,
} from './require-terms.ts'
import { createSecret, type SecretStore } from './secrets.ts'

const HOUR_MS = 3_600_000

export type NewWebhook = WebhookTerms & {
  readonly environment: Environment
  readonly signatures: readonly SignatureVersion[]
}

/** What the response shows once: `null` in the response to a repeated request. */
export type ShownSecret = string | null

export type ManagePorts = {
  readonly log: EventLog
  readonly accept: Accept
  readonly newId: NewId
  readonly requireTerms: RequireTerms
  readonly requireReadable: RequireReadable
  readonly secrets: SecretStore
}

export type ManageWebhooks = {
  /**
   * @throws ValidationFailed, PermissionDenied: see `RequireTerms`; IdempotencyKeyReused; Unavailable
   *   `webhooks_not_configured`
   */
  readonly create: (webhook: NewWebhook, reader: Reader, metadata: Metadata) => Promise<Accepted<ShownSecret>>
  /** Omitted fields do not change. @throws ValidationFailed, PermissionDenied: see `RequireTerms`; NotFound */
  readonly change: (
    webhookId: string,
    revision: Partial<WebhookTerms>,
    reader: Reader,
    metadata: Metadata,
  ) => Promise<void>
  /**
   * A new secret; those before it sign as well for some hours.
   *
   * @throws NotFound; PermissionDenied `event_scope_missing`; Conflict `too_many_secrets`; IdempotencyKeyReused;
   *   Unavailable `webhooks_not_configured`
   */
  readonly rotate: (
    webhookId: string,
    overlapHours: number,
    reader: Reader,
    metadata: Metadata,
  ) => Promise<Accepted<ShownSecret>>
  /** Deliveries are sent from now on. @throws NotFound; PermissionDenied `event_scope_missing`; IdempotencyKeyReused */
  readonly enable: (webhookId: string, reader: Reader, metadata: Metadata) => Promise<Accepted>
  /** Deliveries wait from now on. @throws NotFound, IdempotencyKeyReused */
  readonly disable: (webhook: ChangeTarget, metadata: Metadata) => Promise<Accepted>
  /** What is not sent yet will not be sent. @throws NotFound for an unknown one */
  readonly remove: (webhookId: string, metadata: Metadata) => Promise<void>
}

export function createManageWebhooks(ports: ManagePorts): ManageWebhooks {
  const { log, requireTerms, requireReadable } = ports
  return {
    create: createCreate(ports),
    rotate: createRotate(ports),

    // What was checked is what is appended: after a concurrent change the terms are read and checked again.
    async change(webhookId, revision, reader, metadata) {
      await log.commit(async () => {
        const loaded = await log.load(webhookAggregate, webhookId)
        if (loaded.state.status === 'unknown') throw new NotFound('webhook')
        const terms = await requireTerms({ ...termsOf(loaded.state), ...revision }, reader)
        if (terms.url !== loaded.state.url) requireReadable(everSent(loaded.state), reader)
        const now = log.now()
        return [change(webhookAggregate, loaded, { type: 'ChangeWebhook', terms, now }, { metadata, now })]
      })
    },

    enable: (id, reader, metadata) =>
      acceptChange(
        ports,
        webhookAggregate,
        { id, environment: reader.environment },
        { type: 'EnableWebhook', now: log.now() },
        metadata,
        (state) => state.status !== 'unknown' && requireReadable(everSent(state), reader),
      ),
    disable: (webhook, metadata) =>
      acceptChange(
        ports,
        webhookAggregate,
        webhook,
        { type: 'DisableWebhook', reason: 'requested', now: log.now() },
        metadata,
      ),
    async remove(webhookId, metadata) {
      await log.execute(webhookAggregate, webhookId, { type: 'DeleteWebhook', now: log.now() }, { metadata })
    },
  }
}

function createCreate({ log, accept, newId, requireTerms, secrets }: ManagePorts): ManageWebhooks['create'] {
  return ({ environment, signatures, ...given }, reader, metadata) =>
    accept(
      metadata,
      async (append) => {
        requireSignatures(signatures)
        const terms = await requireTerms(given, reader)
        const [id, secretId] = [newId('webhook'), newId('webhookSecret')]
        const now = log.now()
        const { secret, publicKey, plaintext } = createSecret(signatures)
        // Before the event, which makes it sign: a webhook without its secret could not send.
        await secrets.add(id, secretId, plaintext, now)
        const webhook = { ...terms, environment, signatures, secretId, publicKey, createdAt: now }
        const changes = [opened(webhookAggregate, id, { type: 'CreateWebhook', webhook }, { metadata, now })]
        return append({ id, commit: { changes }, made: secret })
      },
      { replayFirst: true },
    )
}

function createRotate({ log, accept, newId, requireReadable, secrets }: ManagePorts): ManageWebhooks['rotate'] {
  return (webhookId, overlapHours, reader, metadata) =>
    accept(
      metadata,
      async (append) => {
        const loaded = await log.load(webhookAggregate, webhookId)
        if (loaded.state.status === 'unknown') throw new NotFound('webhook')
        requireReadable(loaded.state, reader)
        const { secret, publicKey, plaintext } = createSecret(loaded.state.signatures)
        const secretId = newId('webhookSecret')
        const now = log.now()
        const overlapEndsAt = toInstant(Date.parse(now) + overlapHours * HOUR_MS)
        const command = { type: 'RotateSecret', secretId, publicKey, overlapEndsAt, now } as const
        const rotated = change(webhookAggregate, loaded, command, { metadata, now })
        if (rotated === null) throw new Error('a rotation always records an event')
        await secrets.add(webhookId, secretId, plaintext, now)
        return append({ id: secretId, commit: { changes: [rotated] }, made: secret })
      },
      { replayFirst: true },
    )
}
