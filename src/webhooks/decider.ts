/** A webhook is enabled or disabled until it is deleted. Pure: time, keys and checked terms come with the command. */
import { canonicalJson } from '../core/canonical-json.ts'
import { Conflict, NotFound } from '../core/errors.ts'
import type { Decider } from '../core/messages.ts'
import { assertNever } from '../core/never.ts'
import type {
  DisableReason,
  WebhookCreated,
  WebhookEvent,
  WebhookReplayRequested,
  WebhookSecretRotated,
  WebhookTerms,
} from './events.ts'

export const WEBHOOK_STATUSES = ['enabled', 'disabled', 'deleted'] as const
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number]

/** Secrets that sign at once: a delivery has a signature of each. */
const MAX_SECRETS = 4

/** @property expiresAt `null` for the newest */
export type SigningSecret = { readonly secretId: string; readonly expiresAt: string | null }

export type KnownWebhook = Omit<WebhookCreated['data'], 'secretId'> & {
  /** Newest first, as of the last rotation. */
  readonly secrets: readonly SigningSecret[]
  readonly status: WebhookStatus
  /** `null` unless it is disabled. */
  readonly disabledReason: DisableReason | null
  readonly updatedAt: string
  /** The types that it was ever to send with their data, which it may still send; `null` for all. */
  readonly everFull: readonly string[] | null
  /** The last one that was requested. */
  readonly replay: WebhookReplayRequested['data'] | null
}
export type WebhookState = { readonly status: 'unknown' } | KnownWebhook

export type WebhookCommand =
  | { readonly type: 'CreateWebhook'; readonly webhook: WebhookCreated['data'] }
  | { readonly type: 'ChangeWebhook'; readonly terms: WebhookTerms; readonly now: string }
  | {
      readonly type: 'RotateSecret'
      readonly secretId: string
      readonly publicKey: string | null
      readonly overlapEndsAt: string
      readonly now: string
    }
  | { readonly type: 'DisableWebhook'; readonly reason: DisableReason; readonly now: string }
  | { readonly type: 'EnableWebhook'; readonly now: string }
  | { readonly type: 'DeleteWebhook'; readonly now: string }
  | { readonly type: 'TestWebhook'; readonly now: string }
  | { readonly type: 'RequestReplay'; readonly replay: WebhookReplayRequested['data'] }

export const webhookDecider: Decider<WebhookState, WebhookCommand, WebhookEvent> = {
  initialState: { status: 'unknown' },

  /**
   * @throws NotFound for a webhook that does not exist or was deleted; Conflict `too_many_secrets`, `webhook_disabled`
   */
  decide(command, state) {
    if (command.type === 'CreateWebhook')
      return state.status === 'unknown' ? [{ type: 'WebhookCreated', data: command.webhook }] : []
    if (state.status === 'unknown' || (state.status === 'deleted' && command.type !== 'DeleteWebhook'))
      throw new NotFound('webhook')
    return decideKnown(command, state)
  },

  evolve(before, event) {
    if (event.type === 'WebhookCreated') {
      const { secretId, ...created } = event.data
      const secrets = [{ secretId, expiresAt: null }]
      return {
        ...created,
        secrets,
        status: 'enabled',
        disabledReason: null,
        updatedAt: created.createdAt,
        everFull: withFull([], created),
        replay: null,
      }
    }
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
      return canonicalJson(before) === canonicalJson(command.terms)
        ? []
        : [{ type: 'WebhookChanged', data: { ...command.terms, changedAt: command.now } }]
    }
    case 'RotateSecret': {
      const { secretId, publicKey, overlapEndsAt, now } = command
      const rotated = { secretId, publicKey, overlapEndsAt, rotatedAt: now }
      if (secretsAfter(webhook.secrets, rotated).length > MAX_SECRETS) throw tooManySecrets()
      return [{ type: 'WebhookSecretRotated', data: rotated }]
    }
    case 'DisableWebhook': {
      const data = { reason: command.reason, disabledAt: command.now }
      return webhook.status === 'enabled' ? [{ type: 'WebhookDisabled', data }] : []
    }
    case 'EnableWebhook':
      return webhook.status === 'enabled' ? [] : [{ type: 'WebhookEnabled', data: { enabledAt: command.now } }]
    case 'DeleteWebhook':
      return webhook.status === 'deleted' ? [] : [{ type: 'WebhookDeleted', data: { deletedAt: command.now } }]
    case 'TestWebhook':
      if (webhook.status === 'disabled') throw disabled()
      return [{ type: 'WebhookTested', data: { testedAt: command.now } }]
    case 'RequestReplay':
      return [{ type: 'WebhookReplayRequested', data: command.replay }]
    default:
      return assertNever(command)
  }
}

function evolveKnown(before: KnownWebhook, event: Exclude<WebhookEvent, { type: 'WebhookCreated' }>): KnownWebhook {
  switch (event.type) {
    case 'WebhookChanged': {
      const { changedAt: updatedAt, ...terms } = event.data
      return { ...before, ...terms, everFull: withFull(before.everFull, terms), updatedAt }
    }
    case 'WebhookSecretRotated': {
      const { publicKey, rotatedAt: updatedAt } = event.data
      return { ...before, publicKey, secrets: secretsAfter(before.secrets, event.data), updatedAt }
    }
    case 'WebhookDisabled': {
      const { reason, disabledAt } = event.data
      return { ...before, status: 'disabled', disabledReason: reason, updatedAt: disabledAt }
    }
    case 'WebhookEnabled':
      return { ...before, status: 'enabled', disabledReason: null, updatedAt: event.data.enabledAt }
    case 'WebhookDeleted':
      return { ...before, status: 'deleted', updatedAt: event.data.deletedAt }
    case 'WebhookTested':
      return before
    case 'WebhookReplayRequested':
      return { ...before, replay: event.data }
    default:
      return assertNever(event)
  }
}

function withFull(
  before: KnownWebhook['everFull'],
  { types, payload }: Pick<WebhookTerms, 'types' | 'payload'>,
): KnownWebhook['everFull'] {
  if (payload === 'thin' || before === null) return before
  return types === null ? null : [...new Set([...before, ...types])]
}

/** No secret signs for longer than it did before. */
function secretsAfter(
  before: readonly SigningSecret[],
  { secretId, overlapEndsAt, rotatedAt }: WebhookSecretRotated['data'],
): readonly SigningSecret[] {
  const older = before.map((secret) => {
    const { expiresAt } = secret
    return { ...secret, expiresAt: expiresAt !== null && expiresAt < overlapEndsAt ? expiresAt : overlapEndsAt }
  })
  return [{ secretId, expiresAt: null }, ...older.filter(({ expiresAt }) => expiresAt > rotatedAt)]
}

function disabled(): Conflict {
  return new Conflict('webhook_disabled', 'The webhook is disabled, so that nothing is sent to it: enable it first.')
}

function tooManySecrets(): Conflict {
  return new Conflict(
    'too_many_secrets',
    `The webhook has ${MAX_SECRETS} secrets that are valid: wait until one expires, or rotate with overlap_hours 0, which ends them all.`,
  )
}
