/** SQL about the table of API keys. */
import type { ApiKeyStatus } from './decider.ts'

/** It has an end, and nothing recorded so far ended it. */
export const TO_EXPIRE = `expires_at IS NOT NULL AND status = '${'active' satisfies ApiKeyStatus}'`

/** How many keys of the tenant `$1` are neither revoked nor past their end. */
export const LIVE_OF_TENANT = `SELECT count(*) FROM api_keys WHERE tenant_id = $1 AND status = '${'active' satisfies ApiKeyStatus}'
  AND (expires_at IS NULL OR expires_at > now())`
