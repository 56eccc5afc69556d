/** API keys as public events. They contain neither the key nor its digest. */
import { published } from '../capability.ts'
import { ALL_SCOPES } from '../core/scopes.ts'
import { projectChange } from '../event-log/project-stream.ts'
import { apiKeyAggregate } from './aggregate.ts'
import { apiKeyAtEventSchema } from './schemas.ts'
import { type ApiKeyRow, atEvent } from './view.ts'

export const publishedApiKeys = published(apiKeyAggregate, {
  resource: 'api_key',
  scope: ['api_keys:read', ALL_SCOPES],
  types: {
    'api_key.issued': 'An API key was issued, by an operator or by another key.',
    'api_key.updated': 'The label, the scopes, the expiry or the addresses of an API key changed.',
    'api_key.rotated': 'Another API key replaces this one, which works until it expires.',
    'api_key.expired': 'An API key has expired.',
    'api_key.revoked': 'An API key was revoked.',
  },
  events: {
    ApiKeyIssued: ['api_key.issued'],
    ApiKeyChanged: ['api_key.updated'],
    ApiKeyRotated: ['api_key.rotated'],
    ApiKeyExpired: ['api_key.expired'],
    ApiKeyRevoked: ['api_key.revoked'],
  },
  schema: apiKeyAtEventSchema,
  render(source) {
    const [row] = projectChange(apiKeyAggregate, source, 'api_keys')
    return row === undefined ? null : { resourceId: source.id, data: atEvent(row as ApiKeyRow) }
  },
})
