/** API keys as public events. They contain neither the key nor its digest. */
import { published, publishedAlone } from '../capability.ts'
import { ALL_SCOPES } from '../core/scopes.ts'
import { projectChange } from '../event-log/project-stream.ts'
import { apiKeyAggregate } from './aggregate.ts'
import { keyLimitAggregate } from './limit-aggregate.ts'
import { limitReachedSchema } from './limit-schemas.ts'
import { apiKeyAtEventSchema } from './schemas.ts'
import { type ApiKeyRow, atEvent, limitReachedView } from './view.ts'

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

/** Their data have a schema of their own: they say what did not fit. */
export const publishedLimits = publishedAlone(keyLimitAggregate, {
  resource: 'api_key_limit',
  scope: ['api_keys:read', ALL_SCOPES],
  types: {
    'api_key.limit_reached':
      'A request did not fit into a limit of its API key and was refused. Reported at most once a day for each limit, and at most once in its window.',
  },
  events: { ApiKeyLimitReached: ['api_key.limit_reached'] },
  schema: limitReachedSchema,
  render: ({ id, event: { data } }) => ({ resourceId: id, data: limitReachedView(id, data) }),
})
