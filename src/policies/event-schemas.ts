/** Schemas of the public events of policies. */
import { Type } from '@sinclair/typebox'
import { named } from '../http/components.ts'
import { environmentSchema, instant, nullable, oneOf } from '../http/schemas.ts'
import { REASONS } from './decide.ts'
import { summaryFields } from './route-schemas.ts'

const { version, hash, rules, draft_revision, counting_basis, forced } = summaryFields
const keySchema = (description: string) =>
  Type.String({ description, examples: ['key_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'] })

export const policyEventSchema = named(
  'PolicyAtEvent',
  Type.Object({
    environment: environmentSchema,
    version,
    at: instant('When it happened.'),
    by: nullable(keySchema('The id of the API key. Null if the service did it.')),
    draft_revision: Type.Optional({
      ...draft_revision,
      description: 'The revision of the draft. Missing if no rules changed.',
    }),
    hash: Type.Optional(hash),
    rules: Type.Optional(rules),
    previous_version: Type.Optional(
      Type.Integer({ description: 'Of a published version: the one that it replaced, 0 for none.', examples: [2] }),
    ),
    counting_basis: Type.Optional(counting_basis),
    forced: Type.Optional(forced),
  }),
)

export const refusalSchema = named(
  'PolicyRefusal',
  Type.Object({
    environment: environmentSchema,
    version: { ...version, description: 'The version that refused.' },
    shadow: Type.Boolean({
      description: 'Whether the shadow would have refused: the requests were not.',
      examples: [false],
    }),
    rule: nullable(Type.String({ description: 'The id of the rule. Null for the default.', examples: ['daily-cap'] })),
    reason: oneOf(REASONS, { description: 'Why, as `details.reason` of the response.', examples: ['over_limit'] }),
    key_id: nullable(keySchema('The id of the API key. Null if the service asked.')),
    wallet_id: nullable(
      Type.String({
        description: 'The wallet of the first request. Null if it was about none.',
        examples: ['wal_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'],
      }),
    ),
    count: Type.Integer({ description: 'How many requests.', examples: [12] }),
    first_at: instant('When the first of them was refused.'),
    last_at: instant('When the last of them was refused.'),
  }),
)
