/** Requests of the owner of a webhook to send something: a test, or events of the past again. The senders carry them out. */
import { Conflict, ValidationFailed } from '../core/errors.ts'
import { parsePublicEventId, publicEventIdOf } from '../core/event-ids.ts'
import type { Metadata } from '../core/messages.ts'
import type { Owner } from '../core/tenants.ts'
import type { Accepted } from '../event-log/accept.ts'
import { decideOn } from '../event-log/aggregate.ts'
import { findLogged } from '../event-log/read-logged.ts'
import { testIdOf, webhookAggregate } from './aggregate.ts'
import type { KnownWebhook } from './decider.ts'
import type { Replay } from './events.ts'
import { retryDelivery, sentByDelivery } from './read-deliveries.ts'
import { countRunningReplays } from './read-replays.ts'
import {
  everSent,
  loadWebhook,
  type Reader,
  requireReadable,
  requireTypes,
  type WebhookContext,
} from './require-terms.ts'

/** The senders carry out all replays in turns, so that one webhook with thousands of them would slow those of others. */
const MAX_RUNNING = 10

/** The id of the event of a test. @param testId of the accepted request */
export function testEventIdOf(testId: string): string {
  const [id = '', version] = testId.split(':')
  return publicEventIdOf({ streamId: `webhook-${id}`, streamVersion: Number(version), index: 0 })
}

/**
 * Attempts a delivery at once.
 *
 * @throws NotFound `delivery_not_found`; PermissionDenied `event_scope_missing`; IdempotencyKeyReused
 */
export function requestRetry(
  ctx: WebhookContext,
  reader: Reader,
  { webhookId, deliveryId }: { readonly webhookId: string; readonly deliveryId: string },
  metadata: Metadata,
): Promise<Accepted<unknown>> {
  return ctx.accept(
    metadata,
    async (_append, unchanged) => {
      requireReadable(ctx, await sentByDelivery(ctx, webhookId, deliveryId), reader)
      // Before the key is recorded: after a crash between them the same request does it again.
      await retryDelivery(ctx, webhookId, deliveryId, new Date(ctx.clock()))
      return unchanged({ id: deliveryId, environment: reader.environment }, null)
    },
    { replayFirst: true },
  )
}

/** @throws NotFound; Conflict `webhook_disabled`; IdempotencyKeyReused */
export function requestTest(
  { log, accept }: Pick<WebhookContext, 'log' | 'accept'>,
  webhookId: string,
  metadata: Metadata,
): Promise<Accepted<unknown>> {
  return accept(
    metadata,
    async (append) => {
      const loaded = await log.load(webhookAggregate, webhookId)
      const now = log.now()
      const tested = decideOn(webhookAggregate, loaded, { type: 'TestWebhook', now }, { metadata, now })
      if (tested === null) throw new Error('a test always records an event')
      return append({ id: testIdOf(webhookId, tested.after.version), commit: { decisions: [tested] }, made: null })
    },
    { replayFirst: true },
  )
}

/**
 * @throws NotFound; ValidationFailed `unknown_event`, `unknown_event_type`, `type_not_sent`, `empty_range`,
 *   `ambiguous_start`; PermissionDenied `event_scope_missing`; Conflict `too_many_replays`; IdempotencyKeyReused
 */
export function requestReplay(
  ctx: WebhookContext,
  reader: Reader,
  webhookId: string,
  range: Omit<Replay, 'replayId'>,
  metadata: Metadata,
): Promise<Accepted<unknown>> {
  const { log, accept, newId } = ctx
  return accept(
    metadata,
    async (append) => {
      const loaded = await loadWebhook(ctx, webhookId)
      await requireRange(ctx, reader, loaded.state, range)
      const sent = range.onlyFailed ? everSent(loaded.state) : loaded.state
      requireReadable(ctx, { ...sent, types: range.types ?? sent.types }, reader)
      if ((await countRunningReplays(ctx, webhookId)) >= MAX_RUNNING) throw tooManyReplays()
      const now = log.now()
      const replay = { ...range, replayId: newId('webhookReplay'), requestedAt: now }
      const requested = decideOn(webhookAggregate, loaded, { type: 'RequestReplay', replay }, { metadata, now })
      if (requested === null) throw new Error('a replay always records an event')
      return append({ id: replay.replayId, commit: { decisions: [requested] }, made: null })
    },
    { replayFirst: true },
  )
}

function tooManyReplays(): Conflict {
  return new Conflict(
    'too_many_replays',
    `The webhook has ${MAX_RUNNING} replays that run: wait until one is completed. A wider range needs fewer of them.`,
  )
}

async function requireRange(
  { pool, delivered }: Pick<WebhookContext, 'pool' | 'delivered'>,
  owner: Owner,
  { types: sent }: KnownWebhook,
  { after, from, to, types }: Omit<Replay, 'replayId'>,
): Promise<void> {
  if (after !== null && from !== null)
    throw ValidationFailed.field('from', 'ambiguous_start', 'from must be omitted if after is sent: send one of them.')
  const name = after === null ? undefined : parsePublicEventId(after)
  if (after !== null && (name === undefined || (await findLogged(pool, owner, name)) === undefined))
    throw ValidationFailed.field('after', 'unknown_event', 'after must be the id of one of your events.')
  if (from !== null && to !== null && Date.parse(from) >= Date.parse(to))
    throw ValidationFailed.field('to', 'empty_range', 'to must be later than from.')
  requireTypes(
    types ?? [],
    delivered.map(({ type }) => type),
  )
  const other = (types ?? []).findIndex((type) => sent !== null && !sent.includes(type))
  if (other !== -1) {
    const field = `types[${other}]`
    const message = `${field} must be one of the types of the webhook: add it to them, or omit it.`
    throw ValidationFailed.field(field, 'type_not_sent', message)
  }
}
