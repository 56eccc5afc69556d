/** Schemas of the requests and responses about webhooks. */
import { Type } from '@sinclair/typebox'
import { named } from '../http/components.ts'
import { pageQuery, pageSchema } from '../http/paging.ts'
import { closedObject, environmentSchema, idSchema, instant, nullable, oneOf, text, warnings } from '../http/schemas.ts'
import { WEBHOOK_STATUSES } from './decider.ts'
import { DISABLE_REASONS, PAYLOADS, SIGNATURE_VERSIONS } from './events.ts'
import { MAX_URL_LENGTH } from './receiver-url.ts'

/** Far more than there are types, and as many wallets as a filter should name: without one, all are sent. */
const MAX_TYPES = 200
const MAX_WALLETS = 100
const MAX_OVERLAP_HOURS = 168

const webhookIdSchema = idSchema('whk', 'The id of the webhook.')

export const webhookParams = closedObject({ webhook_id: webhookIdSchema })

const urlSchema = Type.String({
  description:
    'Where events are sent: an https:// URL on the public internet, on port 443 or one from 1024, without user name and password.',
  examples: ['https://example.com/hooks/bursar'],
  maxLength: MAX_URL_LENGTH,
})
const descriptionSchema = nullable(
  text(256, { description: 'A note for your own use, at most 256 characters.', examples: ['Ledger of the shop'] }),
)
export const typesSchema = nullable(
  Type.Array(Type.String({ maxLength: 64, examples: ['transaction.confirmed'] }), {
    description: 'The types of events to send. Null for all, including those of later versions.',
    examples: [['transaction.confirmed', 'transaction.failed']],
    minItems: 1,
    maxItems: MAX_TYPES,
    uniqueItems: true,
  }),
)
const walletIdsSchema = nullable(
  Type.Array(idSchema('wal', 'The id of a wallet.'), {
    description:
      'Only events about these wallets are sent: those of a wallet, and those whose `data` has its `wallet_id`. Null for all events.',
    minItems: 1,
    maxItems: MAX_WALLETS,
    uniqueItems: true,
  }),
)
const payloadSchema = oneOf(PAYLOADS, {
  description:
    '`full` sends each event as `GET /v1/events` shows it. `thin` sends it without `data`, for receivers that read the resource themselves.',
  examples: ['full'],
})
const signaturesSchema = Type.Array(oneOf(SIGNATURE_VERSIONS), {
  description:
    'The signatures of a delivery (Standard Webhooks 1.0.0): `v1` is HMAC-SHA256 with the secret, and always present; `v1a` is Ed25519, which needs only the public key to verify.',
  examples: [['v1']],
  minItems: 1,
  maxItems: SIGNATURE_VERSIONS.length,
  uniqueItems: true,
})

const terms = {
  url: urlSchema,
  description: Type.Optional(descriptionSchema),
  types: Type.Optional(typesSchema),
  wallet_ids: Type.Optional(walletIdsSchema),
  payload: Type.Optional({ ...payloadSchema, default: 'full' as const }),
}

export const createBody = closedObject({
  ...terms,
  environment: Type.Optional(environmentSchema),
  signatures: Type.Optional(signaturesSchema),
})

export const updateBody = closedObject(
  { ...terms, url: Type.Optional(urlSchema), payload: Type.Optional(payloadSchema) },
  { minProperties: 1 },
)

export const rotateBody = closedObject({
  overlap_hours: Type.Integer({
    description:
      'For this number of hours, deliveries are signed with the previous secrets too, so that you can replace the secret in your receiver. 0 ends them immediately.',
    minimum: 0,
    maximum: MAX_OVERLAP_HOURS,
    default: 24,
    examples: [24],
  }),
})

export const listQuery = closedObject({
  ...pageQuery,
  status: Type.Optional(
    oneOf(['enabled', 'disabled'], { description: 'Only webhooks with this status. Default: both.' }),
  ),
})

const recorded = {
  webhook_id: webhookIdSchema,
  environment: environmentSchema,
  url: urlSchema,
  description: descriptionSchema,
  types: typesSchema,
  wallet_ids: walletIdsSchema,
  payload: payloadSchema,
  signatures: signaturesSchema,
  public_key: nullable(
    Type.String({
      description: '`whpk_` and the Ed25519 public key in base64, which verifies `v1a`. Null without `v1a`.',
      examples: [null],
    }),
  ),
  overlap_ends_at: nullable(
    instant('Until this time, deliveries are signed with previous secrets too. Null if there is none.'),
  ),
  status: oneOf(WEBHOOK_STATUSES, {
    description:
      '`enabled`: events are sent. `disabled`: events wait, for at most 30 days. `deleted`: nothing is sent any more.',
    examples: ['enabled'],
  }),
  disabled_reason: nullable(
    oneOf(DISABLE_REASONS, {
      description:
        'Why it is disabled. `gone`: the receiver answered 410. `failing`: no delivery succeeded for five days. `requested`: by a request. Null unless it is disabled.',
      examples: [null],
    }),
  ),
}

const times = {
  created_at: instant('When the webhook was created.'),
  updated_at: instant('When the webhook was changed last.'),
}

export const webhookAtEventSchema = named('WebhookAtEvent', Type.Object({ ...recorded, ...times }))

const health = {
  failing_since: nullable(
    instant('The time of the first failure after the last success. Null while deliveries succeed.'),
  ),
  paused_until: nullable(
    instant('Nothing is sent before this time, because the last attempts failed. Null without a pause.'),
  ),
  last_success_at: nullable(instant('The time of the last delivery that succeeded. Null before the first one.')),
  oldest_undelivered_at: nullable(
    instant('When the oldest event that waits for its delivery was queued. Null if none waits.'),
  ),
  gaps: Type.Integer({
    description: 'The number of deliveries that were given up after their last attempt. A replay sends them again.',
    examples: [0],
  }),
}

export const webhookSchema = named('Webhook', Type.Object({ ...recorded, ...health, ...times }))

export const webhookWithSecretSchema = named(
  'WebhookWithSecret',
  Type.Object({
    ...recorded,
    secret: nullable(
      Type.String({
        description:
          '`whsec_` and the secret in base64. It is returned once: null in the response to a repeated request.',
        examples: ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD1h6ijBqKzpo='],
      }),
    ),
    ...health,
    ...times,
    warnings: warnings('What you should know about this response.', {
      code: 'secret_already_returned',
      message: 'The secret was returned in the first response: rotate it if you do not have it.',
      field: 'secret',
    }),
  }),
)

export const webhookPageSchema = named('WebhookPage', pageSchema('webhooks', webhookSchema))
