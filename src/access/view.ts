/** An API key in the form of the API. Neither its token nor the digest is part of it. */
import { toIso } from '../core/instants.ts'
import type { ReadOrWrittenRow } from '../event-log/table-rows.ts'
import type { View } from '../http/view.ts'
import type { RevocationReason } from './events.ts'
import type { apiKeyAtEventSchema } from './schemas.ts'

export type ApiKeyAtEvent = View<typeof apiKeyAtEventSchema>

export type ApiKeyRow = ReadOrWrittenRow<'api_keys', { readonly revoked_reason: RevocationReason | null }>

/** What follows from the log alone. */
export function atEvent(row: ApiKeyRow): ApiKeyAtEvent {
  return {
    key_id: row.key_id,
    environment: row.environment,
    label: row.label,
    scopes: row.scopes,
    expires_at: row.expires_at === null ? null : toIso(row.expires_at),
    revoked_at: row.revoked_at === null ? null : toIso(row.revoked_at),
    created_at: toIso(row.created_at),
    ...(row.ip_allowlist.length > 0 ? { ip_allowlist: row.ip_allowlist } : {}),
    ...(row.issued_by === null ? {} : { issued_by: row.issued_by }),
    ...(row.rotated_from === null ? {} : { rotated_from: row.rotated_from }),
    ...(row.rotated_to === null ? {} : { rotated_to: row.rotated_to }),
    ...(row.revoked_reason === 'reported' ? { revoked_reason: row.revoked_reason } : {}),
  }
}
