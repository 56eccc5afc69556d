/** The declaration of access control: API keys. */
import { READERS, readBy } from '../core/database-roles.ts'
import { type Declaration, type EventWriters, WHOLE_ROW } from '../core/declaration.ts'
import type { ApiKeyEvent } from './events.ts'

export const access = {
  name: 'access',
  ids: { apiKey: 'key' },
  tables: { api_keys: { follows: 'stream', grants: readBy(READERS) } },
  streams: {
    apikey: {
      rows: { api_keys: { of: '{key_id}', changes: { ApiKeyIssued: WHOLE_ROW, ApiKeyRevoked: ['revoked_at'] } } },
      readScope: '*',
      events: { ApiKeyIssued: ['operator'], ApiKeyRevoked: ['operator'] } satisfies EventWriters<ApiKeyEvent>,
    },
  },
} as const satisfies Declaration
