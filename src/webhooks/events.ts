/**
 * The events of a webhook: where a tenant's events are sent. They contain no secret. Deliveries are no events: they
 * follow from the log, and what is recorded of them is kept for a while beside it.
 */
import type { Event } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'

/** `full`: the resource as of the event. `thin`: only its id, for receivers that read it themselves. */
export const PAYLOADS = ['full', 'thin'] as const
export type Payload = (typeof PAYLOADS)[number]

/** Versions of signatures of Standard Webhooks: `v1` is HMAC-SHA256, `v1a` Ed25519. Every webhook has `v1`. */
export const SIGNATURE_VERSIONS = ['v1', 'v1a'] as const
export type SignatureVersion = (typeof SIGNATURE_VERSIONS)[number]

/** What its owner chooses and may change. */
export type WebhookTerms = {
  readonly url: string
  readonly description: string | null
  /** Types of public events; `null` for all. */
  readonly types: readonly string[] | null
  /** Only events of these wallets; `null` for all. */
  readonly walletIds: readonly string[] | null
  readonly payload: Payload
}

/**
 * Why it was disabled. `gone`: the receiver answered 410. `failing`: no delivery succeeded for five days. `requested`:
 * by its owner.
 */
export const DISABLE_REASONS = ['gone', 'failing', 'requested'] as const
export type DisableReason = (typeof DISABLE_REASONS)[number]

/** A secret is named, so that what was sealed beside the log signs only once the log says so. */
type NamedSecret = {
  readonly secretId: string
  /** `whpk_` and the Ed25519 key in base64; `null` without `v1a`. */
  readonly publicKey: string | null
}

export type WebhookCreated = Event<
  'WebhookCreated',
  WebhookTerms &
    NamedSecret & {
      readonly environment: Environment
      readonly signatures: readonly SignatureVersion[]
      readonly createdAt: string
    }
>
/** The terms after the change. */
export type WebhookChanged = Event<'WebhookChanged', WebhookTerms & { readonly changedAt: string }>
/** Until `overlapEndsAt` deliveries are signed with the secrets before as well. */
export type WebhookSecretRotated = Event<
  'WebhookSecretRotated',
  NamedSecret & { readonly overlapEndsAt: string; readonly rotatedAt: string }
>
export type WebhookDisabled = Event<'WebhookDisabled', { readonly reason: DisableReason; readonly disabledAt: string }>
export type WebhookEnabled = Event<'WebhookEnabled', { readonly enabledAt: string }>
export type WebhookDeleted = Event<'WebhookDeleted', { readonly deletedAt: string }>
/** It is sent to this webhook, whatever its filters, so that its receiver can be tried. */
export type WebhookTested = Event<'WebhookTested', { readonly testedAt: string }>

/** Which events are sent again: those before the request, within the bounds that are not `null`. */
export type Replay = {
  readonly replayId: string
  /** The id of an event: those after it. */
  readonly after: string | null
  /** Recorded at this time or later. */
  readonly from: string | null
  /** Recorded before this time. */
  readonly to: string | null
  /** `null` for all that the webhook gets. */
  readonly types: readonly string[] | null
  /** Only deliveries that were given up. */
  readonly onlyFailed: boolean
}
export type WebhookReplayRequested = Event<'WebhookReplayRequested', Replay & { readonly requestedAt: string }>

export type WebhookEvent =
  | WebhookCreated
  | WebhookChanged
  | WebhookSecretRotated
  | WebhookDisabled
  | WebhookEnabled
  | WebhookDeleted
  | WebhookTested
  | WebhookReplayRequested
