/** The declaration of access control: API keys. */
import { READERS, readBy } from '../core/database-roles.ts'
import { type Declaration, type EventWriters, WHOLE_ROW } from '../core/declaration.ts'
import type { ApiKeyEvent } from './events.ts'
import type { ApiKeyLimitReached } from './limit-events.ts'

export const access = {
  name: 'access',
  ids: { apiKey: 'key' },
  scopes: { 'api_keys:read': { byNameAlone: true }, 'api_keys:write': { byNameAlone: true } },
  tables: {
    api_keys: { follows: 'stream', grants: readBy([...READERS, 'dispatcher']) },
    api_key_uses: {
      beside: 'on which day each key was used last: an event a day and key would say no more',
      grants: readBy(READERS, { api: 'SELECT, INSERT, UPDATE' }),
    },
    api_key_requests: {
      beside: 'how many requests of a day were taken from a limit: an event for each would be a write for each request',
      grants: readBy(READERS),
    },
  },
  streams: {
    apikey: {
      rows: {
        api_keys: {
          of: '{key_id}',
          changes: {
            ApiKeyIssued: WHOLE_ROW,
            ApiKeyChanged: ['label', 'scopes', 'grants', 'ip_allowlist', 'limits', 'expires_at', 'updated_at'],
            ApiKeyRotated: ['rotated_to', 'expires_at', 'updated_at'],
            ApiKeyExpired: ['status', 'expired_at', 'updated_at'],
            ApiKeyRevoked: ['status', 'revoked_at', 'revoked_reason', 'updated_at'],
          },
        },
      },
      readScope: ['api_keys:read', '*'],
      events: {
        ApiKeyIssued: ['api', 'operator'],
        ApiKeyChanged: ['api'],
        ApiKeyRotated: ['api'],
        ApiKeyExpired: ['dispatcher'],
        ApiKeyRevoked: ['api', 'operator'],
      } satisfies EventWriters<ApiKeyEvent>,
    },
    keylimit: {
      rows: {},
      readScope: ['api_keys:read', '*'],
      events: { ApiKeyLimitReached: ['api'] } satisfies EventWriters<ApiKeyLimitReached>,
    },
  },
  tasks: ['api-key-expiry'],
  errors: {
    validation_error: {
      excludes_caller: 'Add the address of the request to the list, or send `force` true.',
      expires_in_the_past: 'Use a time in the future.',
      expiry_widened: 'Create another API key: an expiry can only become earlier.',
      invalid_range: 'Send an IP address or a CIDR range without bits behind its prefix.',
      limits_with_scope: 'Leave the scopes that the message names out, or send no limits of amounts.',
    },
    permission_error: {
      beyond_own_key: 'Give only what the API key of the request holds.',
    },
    not_found: {
      api_key_not_found: 'Check the id. It may belong to another tenant or environment.',
    },
    conflict: {
      api_key_ended: 'Create another API key: this one was revoked or has expired.',
      api_key_rotated: 'Rotate the API key that replaces it: `details.rotated_to`.',
    },
    policy_error: {
      key_limit: 'Send less, wait until `details.available_at`, or use another API key.',
    },
  },
  quotas: {
    api_keys: {
      kind: 'counted',
      place: 50,
      // A tenth of those that an API process remembers: one tenant cannot make it ask for those of all others again.
      default: 1_000,
      description:
        'Maximum number of API keys of a tenant that are neither revoked nor expired. The command of the operator is not limited',
      counted: 'API keys that are neither revoked nor expired',
      remedy: 'Revoke one',
      retryAfterSeconds: null,
    },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly access: typeof access
  }
}
