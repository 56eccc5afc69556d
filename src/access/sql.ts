/** SQL about the table of API keys. */
import type { ApiKeyStatus } from './decider.ts'

/** It has an end, and nothing recorded so far ended it. */
export const TO_EXPIRE = `expires_at IS NOT NULL AND status = '${'active' satisfies ApiKeyStatus}'`
