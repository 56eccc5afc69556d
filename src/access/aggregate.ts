/** The read model of an API key: its row, whose digest authenticates requests. Pure. */
import type { Aggregate } from '../event-log/aggregate.ts'
import { type ApiKeyCommand, type ApiKeyState, apiKeyDecider } from './decider.ts'
import type { ApiKeyEvent } from './events.ts'

const first = { version: 1, upcasters: [] }

export const apiKeyAggregate: Aggregate<ApiKeyState, ApiKeyCommand, ApiKeyEvent, 'api_keys'> = {
  ...apiKeyDecider,
  category: 'apikey',
  schemas: { ApiKeyIssued: first, ApiKeyRevoked: first },
  project: (_before, after, { id, version }) => ({
    rows:
      after.status === 'unknown'
        ? []
        : [
            {
              table: 'api_keys',
              row: {
                key_id: id,
                tenant_id: after.tenantId,
                environment: after.environment,
                label: after.label,
                digest: after.digest,
                scopes: after.scopes,
                expires_at: after.expiresAt,
                revoked_at: after.revokedAt,
                created_at: after.issuedAt,
                version,
              },
            },
          ],
    holds: [],
  }),
}
