/** A webhook in the form of the API. Its secret is not part of it. */
import { toIso } from '../core/instants.ts'
import type { Environment } from '../core/networks.ts'
import type { OrNull, ReadOrWrittenRow, Row } from '../event-log/table-rows.ts'
import type { View } from '../http/view.ts'
import type { WebhookStatus } from './decider.ts'
import type { DisableReason, Payload, SignatureVersion } from './events.ts'
import type { webhookAtEventSchema, webhookSchema } from './schemas.ts'

export type WebhookView = View<typeof webhookSchema>
export type WebhookAtEvent = View<typeof webhookAtEventSchema>

export type WebhookRow = ReadOrWrittenRow<
  'webhooks',
  {
    readonly environment: Environment
    readonly types: readonly string[] | null
    readonly wallet_ids: readonly string[] | null
    readonly payload: Payload
    readonly signatures: readonly SignatureVersion[]
    readonly secrets: readonly { readonly secret_id: string; readonly expires_at: string | null }[]
    readonly status: WebhookStatus
    readonly disabled_reason: DisableReason | null
  }
>

/** How its receiver does; null before the first attempt. */
export type HealthRow = OrNull<
  Pick<Row<'webhook_health'>, 'failing_since' | 'paused_until' | 'succeeded_at' | 'gaps'>
> & {
  /** When the oldest delivery that is still pending was due first. */
  readonly oldest_at: Date | null
}

export function toView(row: WebhookRow & HealthRow): WebhookView {
  const { created_at, updated_at, ...webhook } = atEvent(row)
  return {
    ...webhook,
    failing_since: instantOf(row.failing_since),
    paused_until: instantOf(row.paused_until),
    last_success_at: instantOf(row.succeeded_at),
    oldest_undelivered_at: instantOf(row.oldest_at),
    gaps: Number(row.gaps ?? 0),
    created_at,
    updated_at,
  }
}

/** What follows from the log alone. */
export function atEvent(row: WebhookRow): WebhookAtEvent {
  const ends = row.secrets.flatMap(({ expires_at }) => expires_at ?? [])
  return {
    webhook_id: row.webhook_id,
    environment: row.environment,
    url: row.url,
    description: row.description,
    types: row.types,
    wallet_ids: row.wallet_ids,
    payload: row.payload,
    signatures: row.signatures,
    public_key: row.public_key,
    overlap_ends_at: ends.toSorted().at(-1) ?? null,
    status: row.status,
    disabled_reason: row.disabled_reason,
    created_at: toIso(row.created_at),
    updated_at: toIso(row.updated_at),
  }
}

function instantOf(at: Date | null): string | null {
  return at === null ? null : toIso(at)
}
