/** SQL about the table of API keys. */
import type { ApiKeyStatus } from './decider.ts'

/** It was not revoked, and that it has expired was not recorded: it may be past its end. */
export const ACTIVE = `status = '${'active' satisfies ApiKeyStatus}'`

/** It has an end, and nothing recorded so far ended it. */
export const TO_EXPIRE = `expires_at IS NOT NULL AND ${ACTIVE}`

/** How many keys of the tenant `$1` are neither revoked nor past their end. */
export const LIVE_OF_TENANT = `SELECT count(*) FROM api_keys
  WHERE tenant_id = $1 AND ${ACTIVE} AND (expires_at IS NULL OR expires_at > now())`
