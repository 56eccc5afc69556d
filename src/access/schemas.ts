/** Schemas of the requests and responses about API keys. */
import { Type } from '@sinclair/typebox'
import { named } from '../http/components.ts'
import { environmentSchema, idSchema, instant, nullable, oneOf } from '../http/schemas.ts'
import { REVOCATION_REASONS } from './events.ts'

const keyIdSchema = idSchema('apiKey', 'The id of the API key.')

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
