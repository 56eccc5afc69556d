/** A webhook is enabled or disabled until it is deleted. Pure: time, keys and checked terms come with the command. */
import { isDeepStrictEqual } from 'node:util'
import { NotFound } from '../core/errors.ts'
import type { Decider } from '../core/messages.ts'
import { assertNever } from '../core/never.ts'
import type { DisableReason, WebhookCreated, WebhookEvent, WebhookTerms } from './events.ts'

export const WEBHOOK_STATUSES = ['enabled', 'disabled', 'deleted'] as const
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number]

export type KnownWebhook = WebhookCreated['data'] & {
  readonly status: WebhookStatus
  /** `null` unless it is disabled. */
  readonly disabledReason: DisableReason | null
  readonly updatedAt: string
}
export type WebhookState = { readonly status: 'unknown' } | KnownWebhook

export type WebhookCommand =
  | { readonly type: 'CreateWebhook'; readonly webhook: WebhookCreated['data'] }
  | { readonly type: 'ChangeWebhook'; readonly change: Partial<WebhookTerms>; readonly now: string }
  | {
      readonly type: 'RotateSecret'
      readonly publicKey: string | null
      readonly overlapEndsAt: string
      readonly now: string
    }
  | { readonly type: 'DisableWebhook'; readonly reason: DisableReason; readonly now: string }
  | { readonly type: 'EnableWebhook'; readonly now: string }
  | { readonly type: 'DeleteWebhook'; readonly now: string }

export const webhookDecider: Decider<WebhookState, WebhookCommand, WebhookEvent> = {
  initialState: { status: 'unknown' },

  /** @throws NotFound for a webhook that does not exist or was deleted */
  decide(command, state) {
    if (command.type === 'CreateWebhook')
      return state.status === 'unknown' ? [{ type: 'WebhookCreated', data: command.webhook }] : []
    if (state.status === 'unknown' || (state.status === 'deleted' && command.type !== 'DeleteWebhook'))
      throw new NotFound('webhook')
    return decideKnown(command, state)
  },

  evolve(before, event) {
    if (event.type === 'WebhookCreated')
      return { ...event.data, status: 'enabled', disabledReason: null, updatedAt: event.data.createdAt }
    return before.status === 'unknown' ? before : evolveKnown(before, event)
  },
}

function decideKnown(
  command: Exclude<WebhookCommand, { type: 'CreateWebhook' }>,
  webhook: KnownWebhook,
): readonly WebhookEvent[] {
  switch (command.type) {
    case 'ChangeWebhook': {
      const { url, description, types, walletIds, payload } = webhook
      const before: WebhookTerms = { url, description, types, walletIds, payload }
      const after = { ...before, ...command.change }
      return isDeepStrictEqual(before, after)
        ? []
        : [{ type: 'WebhookChanged', data: { ...after, changedAt: command.now } }]
    }
    case 'RotateSecret': {
      const { publicKey, overlapEndsAt, now } = command
      return [{ type: 'WebhookSecretRotated', data: { publicKey, overlapEndsAt, rotatedAt: now } }]
    }
    case 'DisableWebhook': {
      const data = { reason: command.reason, disabledAt: command.now }
      return webhook.status === 'enabled' ? [{ type: 'WebhookDisabled', data }] : []
    }
    case 'EnableWebhook':
      return webhook.status === 'enabled' ? [] : [{ type: 'WebhookEnabled', data: { enabledAt: command.now } }]
    case 'DeleteWebhook':
      return webhook.status === 'deleted' ? [] : [{ type: 'WebhookDeleted', data: { deletedAt: command.now } }]
    default:
      return assertNever(command)
  }
}

function evolveKnown(before: KnownWebhook, event: Exclude<WebhookEvent, { type: 'WebhookCreated' }>): KnownWebhook {
  switch (event.type) {
    case 'WebhookChanged': {
      const { changedAt: updatedAt, ...terms } = event.data
      return { ...before, ...terms, updatedAt }
    }
    case 'WebhookSecretRotated':
      return { ...before, publicKey: event.data.publicKey, updatedAt: event.data.rotatedAt }
    case 'WebhookDisabled': {
      const { reason, disabledAt } = event.data
      return { ...before, status: 'disabled', disabledReason: reason, updatedAt: disabledAt }
    }
    case 'WebhookEnabled':
      return { ...before, status: 'enabled', disabledReason: null, updatedAt: event.data.enabledAt }
    case 'WebhookDeleted':
      return { ...before, status: 'deleted', updatedAt: event.data.deletedAt }
    default:
      return assertNever(event)
  }
}
