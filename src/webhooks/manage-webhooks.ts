/**
 * Creates and changes the webhooks of a tenant. A secret is in no event: what a request returns of it cannot be returned
 * again, so a repeated request returns the webhook without its secret.
 */
import { toInstant } from '../core/ids.ts'
import type { Metadata } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import { type Accepted, acceptChange, type ChangeTarget } from '../event-log/accept.ts'
import { decideNew, decideOn } from '../event-log/aggregate.ts'
import { webhookAggregate } from './aggregate.ts'
import type { SignatureVersion, WebhookTerms } from './events.ts'
import {
  everSent,
  loadWebhook,
  type Reader,
  requireReadable,
  requireSignatures,
  requireTerms,
  termsOf,
  type WebhookContext,
} from './require-terms.ts'
import { createSecret, keepSecret, sealSecret } from './secrets.ts'
import { PENDING } from './sql.ts'

const HOUR_MS = 3_600_000

export type NewWebhook = WebhookTerms & {
  readonly environment: Environment
  readonly signatures: readonly SignatureVersion[]
}

/** What the response shows once: `null` in the response to a repeated request. */
export type ShownSecret = string | null

/**
 * @throws ValidationFailed, PermissionDenied: see `requireTerms`; IdempotencyKeyReused; Unavailable
 *   `webhooks_not_configured`
 */
export function createWebhook(
  ctx: WebhookContext,
  { environment, signatures, ...given }: NewWebhook,
  reader: Reader,
  metadata: Metadata,
): Promise<Accepted<ShownSecret>> {
  const { log, accept, newId } = ctx
  return accept(
    metadata,
    async (append) => {
      requireSignatures(signatures)
      const terms = await requireTerms(ctx, given, reader)
      const [id, secretId] = [newId('webhook'), newId('webhookSecret')]
      const now = log.now()
      const { secret, publicKey, plaintext } = createSecret(signatures)
      // Before the event, which makes it sign: a webhook without its secret could not send.
      await keepSecret(ctx, id, { secretId, sealed: await sealSecret(ctx, plaintext), now })
      const webhook = { ...terms, environment, signatures, secretId, publicKey, createdAt: now }
      const decisions = [decideNew(webhookAggregate, id, { type: 'CreateWebhook', webhook }, { metadata, now })]
      return append({ id, commit: { decisions }, made: secret })
    },
    { replayFirst: true },
  )
}

/**
 * Omitted fields do not change. What was checked is what is appended: after a concurrent change the terms are read and
 * checked again.
 *
 * @throws ValidationFailed, PermissionDenied: see `requireTerms`; NotFound
 */
export async function changeWebhook(
  ctx: WebhookContext,
  webhookId: string,
  revision: Partial<WebhookTerms>,
  reader: Reader,
  metadata: Metadata,
): Promise<void> {
  const { log } = ctx
  await log.commit(async () => {
    const loaded = await loadWebhook(ctx, webhookId)
    const terms = await requireTerms(ctx, { ...termsOf(loaded.state), ...revision }, reader)
    if (terms.url !== loaded.state.url) requireReadable(ctx, everSent(loaded.state), reader)
    const now = log.now()
    return [decideOn(webhookAggregate, loaded, { type: 'ChangeWebhook', terms, now }, { metadata, now })]
  })
}

/**
 * A new secret; those before it sign as well for some hours.
 *
 * @throws NotFound; PermissionDenied `event_scope_missing`; Conflict `too_many_secrets`; IdempotencyKeyReused;
 *   Unavailable `webhooks_not_configured`
 */
export function rotateSecret(
  ctx: WebhookContext,
  webhookId: string,
  overlapHours: number,
  reader: Reader,
  metadata: Metadata,
): Promise<Accepted<ShownSecret>> {
  const { log, accept, newId } = ctx
  return accept(
    metadata,
    async (append) => {
      const loaded = await loadWebhook(ctx, webhookId)
      requireReadable(ctx, loaded.state, reader)
      const { secret, publicKey, plaintext } = createSecret(loaded.state.signatures)
      const secretId = newId('webhookSecret')
      const now = log.now()
      const overlapEndsAt = toInstant(Date.parse(now) + overlapHours * HOUR_MS)
      const command = { type: 'RotateSecret', secretId, publicKey, overlapEndsAt, now } as const
      const rotated = decideOn(webhookAggregate, loaded, command, { metadata, now })
      if (rotated === null) throw new Error('a rotation always records an event')
      await keepSecret(ctx, webhookId, { secretId, sealed: await sealSecret(ctx, plaintext), now })
      return append({ id: secretId, commit: { decisions: [rotated] }, made: secret })
    },
    { replayFirst: true },
  )
}

/** Deliveries are sent from now on. @throws NotFound; PermissionDenied `event_scope_missing`; IdempotencyKeyReused */
export function enableWebhook(ctx: WebhookContext, id: string, reader: Reader, metadata: Metadata): Promise<Accepted> {
  return acceptChange(
    ctx,
    webhookAggregate,
    { id, environment: reader.environment },
    { type: 'EnableWebhook', now: ctx.log.now() },
    metadata,
    (state) => state.status !== 'unknown' && requireReadable(ctx, everSent(state), reader),
  )
}

/** Deliveries wait from now on. @throws NotFound, IdempotencyKeyReused */
export function disableWebhook(
  ctx: Pick<WebhookContext, 'log' | 'accept' | 'newId'>,
  webhook: ChangeTarget,
  metadata: Metadata,
): Promise<Accepted> {
  const command = { type: 'DisableWebhook', reason: 'requested', now: ctx.log.now() } as const
  return acceptChange(ctx, webhookAggregate, webhook, command, metadata)
}

/** What is not sent yet will not be sent. @throws NotFound for an unknown one */
export async function deleteWebhook(
  { log }: Pick<WebhookContext, 'log'>,
  webhookId: string,
  metadata: Metadata,
): Promise<void> {
  await log.execute(webhookAggregate, webhookId, { type: 'DeleteWebhook', now: log.now() }, { metadata })
}

/**
 * Ends all waits of a webhook, because its owner says that its receiver works: what waits for its next attempt, up to a day
 * after failures, is due now, and no pause goes on.
 */
export async function sendWaiting({ pool, clock }: Pick<WebhookContext, 'pool' | 'clock'>, id: string): Promise<void> {
  await pool.query({ name: 'send_waiting_deliveries', text: SEND_WAITING, values: [id, new Date(clock())] })
}

const SEND_WAITING = `WITH due AS (
    UPDATE webhook_deliveries SET due_at = $2 WHERE webhook_id = $1 AND ${PENDING} AND attempts > 0 AND due_at > $2
  ) UPDATE webhook_health SET paused_until = NULL, replays_rest_until = NULL, replays_refused = 0, refused = 0, refused_types = '{}' WHERE webhook_id = $1`
