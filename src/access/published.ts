/** API keys as public events. They contain neither the key nor its digest. */
import { Type } from '@sinclair/typebox'
import { published } from '../capability.ts'
import { toIso } from '../core/instants.ts'
import { ALL_SCOPES } from '../core/scopes.ts'
import { projectChange } from '../event-log/project-stream.ts'
import { named } from '../http/components.ts'
import { environmentSchema, idSchema, instant, nullable } from '../http/schemas.ts'
import { apiKeyAggregate } from './aggregate.ts'

const schema = named(
  'ApiKeyAtEvent',
  Type.Object({
    key_id: idSchema('apiKey', 'The id of the API key.'),
    environment: environmentSchema,
    label: Type.String({ description: 'The name of the API key.', examples: ['payments'] }),
    scopes: Type.Array(Type.String({ examples: ['wallets:read'] }), {
      description: 'What the API key may do. `*` stands for all scopes.',
      examples: [['wallets:read']],
    }),
    expires_at: nullable(instant('When the API key expires. Null if it does not.')),
    revoked_at: nullable(instant('When the API key was revoked. Null unless it was.')),
    created_at: instant('When the API key was issued.'),
  }),
)

export const publishedApiKeys = published(apiKeyAggregate, {
  resource: 'api_key',
  scope: ALL_SCOPES,
  types: { 'api_key.issued': 'An API key was issued.', 'api_key.revoked': 'An API key was revoked.' },
  events: { ApiKeyIssued: ['api_key.issued'], ApiKeyRevoked: ['api_key.revoked'] },
  schema,
  render(source) {
    const [row] = projectChange(apiKeyAggregate, source, 'api_keys')
    if (row === undefined) return null
    const { key_id, environment, label, scopes, expires_at, revoked_at, created_at } = row
    const times = {
      expires_at: expires_at === null ? null : toIso(expires_at),
      revoked_at: revoked_at === null ? null : toIso(revoked_at),
      created_at: toIso(created_at),
    }
    return { resourceId: source.id, data: { key_id, environment, label, scopes, ...times } }
  },
})
