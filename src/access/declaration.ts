/** The declaration of access control: API keys. */
import { READERS, readBy } from '../core/database-roles.ts'
import type { Declaration, EventWriters } from '../core/declaration.ts'
import type { ApiKeyEvent } from './events.ts'

export const access = {
  name: 'access',
  ids: { apiKey: 'key' },
  tables: { api_keys: { follows: 'stream', grants: readBy(READERS) } },
  streams: {
    apikey: {
      rows: ['api_keys'],
      readScope: '*',
      events: { ApiKeyIssued: ['operator'], ApiKeyRevoked: ['operator'] } satisfies EventWriters<ApiKeyEvent>,
    },
  },
} as const satisfies Declaration
