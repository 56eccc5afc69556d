/** Schemas of the requests and responses about API keys. */
import { Type } from '@sinclair/typebox'
import { named } from '../http/components.ts'
import { pageQuery, pageSchema } from '../http/paging.ts'
import {
  closedObject,
  environmentSchema,
  idSchema,
  instant,
  labelSchema,
  nullable,
  oneOf,
  warnings,
} from '../http/schemas.ts'
import { API_KEY_STATUSES } from './decider.ts'
import { REVOCATION_REASONS } from './events.ts'
import { askedLimitsSchema, currentLimitsSchema, limitsSchema } from './limit-schemas.ts'

/** Far more than there are, and as many ranges as are compared with each request. */
const MAX_SCOPES = 100
const MAX_RANGES = 100
/** The text of the longest range of IPv6, with an IPv4 address in it. */
const MAX_RANGE_LENGTH = 49
const MAX_OVERLAP_SECONDS = 604_800

const keyIdSchema = idSchema('key', 'The id of the API key.')

const scopesSchema = Type.Array(Type.String({ maxLength: 64, examples: ['wallets:read'] }), {
  description: 'The scopes that were asked for. `*` stands for all that need not be named: see `effective_scopes`.',
  examples: [['wallets:read']],
})

const ipAllowlistSchema = Type.Array(Type.String({ examples: ['203.0.113.0/24'] }), {
  description: 'The addresses that may use the API key, as CIDR ranges. Empty if any address may.',
  examples: [['203.0.113.0/24']],
})
const revokedReasonSchema = oneOf(REVOCATION_REASONS, {
  description:
    '`requested`: by a key or an operator. `reported`: somebody who had the token reported it. Null unless it was revoked.',
  examples: ['requested'],
})
const expiresAtSchema = nullable(instant('When the API key expires. Null if it does not.'))
const revokedAtSchema = nullable(instant('When the API key was revoked. Null unless it was.'))
const createdAtSchema = instant('When the API key was issued.')
const otherKeySchema = (description: string) =>
  Type.String({ description, examples: ['key_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'] })

/** Old events keep their bytes: what keys did not have then is missing where there is nothing to say. */
export const apiKeyAtEventSchema = named(
  'ApiKeyAtEvent',
  Type.Object({
    key_id: keyIdSchema,
    environment: environmentSchema,
    label: Type.String({ description: 'The name of the API key.', examples: ['payments'] }),
    scopes: scopesSchema,
    expires_at: expiresAtSchema,
    revoked_at: revokedAtSchema,
    created_at: createdAtSchema,
    ip_allowlist: Type.Optional({
      ...ipAllowlistSchema,
      description: 'The addresses that may use the API key, as CIDR ranges. Missing if any address may.',
    }),
    limits: Type.Optional({
      ...limitsSchema,
      description: 'What may be spent with the API key. Missing if it has no limits.',
    }),
    issued_by: Type.Optional(
      otherKeySchema('The id of the API key that created this one. Missing if an operator did.'),
    ),
    rotated_from: Type.Optional(
      otherKeySchema('The id of the API key that this one replaces. Missing if it replaces none.'),
    ),
    rotated_to: Type.Optional(otherKeySchema('The id of the API key that replaces this one. Missing if none does.')),
    revoked_reason: Type.Optional({
      ...revokedReasonSchema,
      description: '`reported` if somebody who had the token reported it. Missing otherwise.',
    }),
  }),
)

export const apiKeyParams = closedObject({ key_id: keyIdSchema })

const askedScopesSchema = Type.Array(Type.String({ maxLength: 64, examples: ['wallets:read'] }), {
  description:
    'What the API key may do. `*` stands for all scopes that need not be named; it never includes `api_keys:*`, `policies:*`, `recovery:*`, ' +
    '`signatures:*` and `webhooks:write`. The API key of the request must hold each of them.',
  examples: [['wallets:read', 'transactions:read']],
  minItems: 1,
  maxItems: MAX_SCOPES,
  uniqueItems: true,
})
const askedRangesSchema = Type.Array(Type.String({ maxLength: MAX_RANGE_LENGTH, examples: ['203.0.113.0/24'] }), {
  description:
    'The addresses that may use the API key: IP addresses and CIDR ranges without bits behind their prefix. An empty list allows any ' +
    'address. Refused if it does not contain the address of the request, unless `force` is true.',
  examples: [['203.0.113.0/24']],
  maxItems: MAX_RANGES,
})
const askedExpirySchema = (description: string) =>
  nullable(Type.String({ format: 'date-time', maxLength: 64, description, examples: ['2027-01-31T12:00:00.000Z'] }))
const forceSchema = Type.Boolean({
  description: 'Whether to accept an `ip_allowlist` that does not contain the address of the request. Default: false.',
})

export const createBody = closedObject({
  label: Type.Optional({ ...labelSchema, default: '' }),
  scopes: askedScopesSchema,
  environment: Type.Optional(environmentSchema),
  expires_at: Type.Optional(
    askedExpirySchema(
      'When the API key expires: not later than the API key of the request, whose expiry is the default.',
    ),
  ),
  ip_allowlist: Type.Optional({
    ...askedRangesSchema,
    description: `${askedRangesSchema.description} Default: that of the API key of the request, within which it must be.`,
  }),
  limits: Type.Optional(askedLimitsSchema),
  force: Type.Optional(forceSchema),
})

export const updateBody = closedObject(
  {
    label: Type.Optional(labelSchema),
    scopes: Type.Optional({
      ...askedScopesSchema,
      description: 'The scopes that the API key keeps: scopes can only be taken away.',
    }),
    expires_at: Type.Optional(askedExpirySchema('When the API key expires: it can only become earlier.')),
    ip_allowlist: Type.Optional({
      ...askedRangesSchema,
      description: `${askedRangesSchema.description} Another address can be added only with an API key that could create this one.`,
    }),
    limits: Type.Optional({
      ...askedLimitsSchema,
      description:
        'The limits that replace those that are not inherited. What was spent stays counted, unless the asset or the window is another. A limit can be ' +
        'raised or removed only with an API key that could create this one.',
    }),
    force: Type.Optional(forceSchema),
  },
  { minProperties: 1 },
)

export const rotateBody = closedObject({
  overlap_seconds: Type.Integer({
    description:
      'For this number of seconds the previous API key works too, at most until it expires, so that you can replace it without a refused request. 0 ends it immediately.',
    minimum: 0,
    maximum: MAX_OVERLAP_SECONDS,
    default: 86_400,
    examples: [86_400],
  }),
})

export const reportBody = closedObject({
  api_key: Type.String({
    description: 'The API key that was found, as it was found.',
    minLength: 1,
    maxLength: 512,
    examples: [`bsk_mainnet_${'0'.repeat(64)}`],
  }),
})

export const listQuery = closedObject({
  ...pageQuery,
  issued_by: Type.Optional(idSchema('key', 'Only API keys that this API key created.')),
})

const described = {
  key_id: keyIdSchema,
  environment: environmentSchema,
  label: labelSchema,
  status: oneOf(API_KEY_STATUSES, {
    description: '`active`: the API key works. `expired` and `revoked`: it does not, permanently.',
    examples: ['active'],
  }),
  scopes: scopesSchema,
  effective_scopes: Type.Array(Type.String({ examples: ['wallets:read'] }), {
    description:
      'Each scope that the API key holds, by name. `*` is listed as well if it was asked for: the key then also reads what no scope names.',
    examples: [['wallets:read']],
  }),
  ip_allowlist: ipAllowlistSchema,
  limits: currentLimitsSchema,
  expires_at: expiresAtSchema,
  last_used_on: nullable(
    Type.String({
      format: 'date',
      description: 'The last day (UTC) on which a request presented the API key. Null if none did.',
      examples: ['2026-01-31'],
    }),
  ),
  revoked_at: revokedAtSchema,
  revoked_reason: nullable(revokedReasonSchema),
  issued_by: nullable(otherKeySchema('The id of the API key that created this one. Null if an operator did.')),
  rotated_from: nullable(otherKeySchema('The id of the API key that this one replaces. Null if it replaces none.')),
  rotated_to: nullable(otherKeySchema('The id of the API key that replaces this one. Null if none does.')),
  created_at: createdAtSchema,
  updated_at: instant('When the API key was changed last.'),
}

export const apiKeySchema = named('ApiKey', Type.Object(described))

export const apiKeyWithTokenSchema = named(
  'ApiKeyWithToken',
  Type.Object({
    ...described,
    api_key: nullable(
      Type.String({
        description:
          'The API key itself, for `Authorization: Bearer`. It is returned once: null in the response to a repeated request.',
        examples: [`bsk_mainnet_${'0'.repeat(64)}`],
      }),
    ),
    warnings: warnings('What you should know about this response.', {
      code: 'api_key_already_returned',
      message: 'The API key was returned in the first response: rotate it if you do not have it.',
      field: 'api_key',
    }),
  }),
)

export const apiKeyPageSchema = named('ApiKeyPage', pageSchema('api_keys', apiKeySchema))

export const meSchema = named(
  'Me',
  Type.Object({
    tenant_id: Type.String({ description: 'The tenant of the API key.', examples: ['acme'] }),
    address: Type.String({
      description: 'The address of the client, as the service sees it: what `ip_allowlist` is compared with.',
      examples: ['203.0.113.7'],
    }),
    ...described,
  }),
)

export const reportedSchema = named(
  'ReportedApiKey',
  Type.Object({
    received: Type.Boolean({ description: 'Always true, whether or not there is such an API key.', examples: [true] }),
  }),
)
