/** The read model of an API key: its row, whose digest authenticates requests. Pure. */
import { grantsBefore } from '../core/scopes.ts'
import { type Aggregate, opensItself, type ProjectionContext } from '../event-log/aggregate.ts'
import type { WrittenRow } from '../event-log/table-rows.ts'
import { type ApiKeyCommand, type ApiKeyState, apiKeyDecider, type KnownApiKey } from './decider.ts'
import type { ApiKeyEvent } from './events.ts'

const first = { version: 1, upcasters: [] }

export const apiKeyAggregate: Aggregate<ApiKeyState, ApiKeyCommand, ApiKeyEvent, 'api_keys'> = {
  ...apiKeyDecider,
  category: 'apikey',
  schemas: {
    ApiKeyIssued: {
      version: 2,
      upcasters: [
        (data) => ({
          ...data,
          grants: grantsBefore(data.scopes as readonly string[]),
          ipAllowlist: [],
          limits: [],
          issuedBy: null,
          rotatedFrom: null,
        }),
      ],
    },
    ApiKeyChanged: first,
    ApiKeyRotated: first,
    ApiKeyExpired: first,
    ApiKeyRevoked: { version: 2, upcasters: [(data) => ({ ...data, reason: 'requested' })] },
  },
  opens: opensItself<ApiKeyEvent>('ApiKeyIssued'),
  project: (_before, after, context) => ({
    rows: after.status === 'unknown' ? [] : [{ table: 'api_keys', row: toRow(after, context) }],
    holds: [],
  }),
}

function toRow(key: KnownApiKey, { id, version }: ProjectionContext): WrittenRow<'api_keys'> {
  return {
    key_id: id,
    tenant_id: key.tenantId,
    environment: key.environment,
    label: key.label,
    digest: key.digest,
    scopes: key.scopes,
    grants: key.grants,
    ip_allowlist: key.ipAllowlist,
    limits: key.limits,
    status: key.status,
    expires_at: key.expiresAt,
    expired_at: key.expiredAt,
    revoked_at: key.revokedAt,
    revoked_reason: key.revokedReason,
    issued_by: key.issuedBy,
    rotated_from: key.rotatedFrom,
    rotated_to: key.rotatedTo,
    created_at: key.issuedAt,
    updated_at: key.updatedAt,
    version,
  }
}
