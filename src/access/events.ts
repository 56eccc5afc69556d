/** The events of an API key. Only the digest of the key is recorded. */
import type { Event } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'

export type ApiKeyIssued = Event<
  'ApiKeyIssued',
  {
    tenantId: string
    environment: Environment
    label: string
    /** SHA-256 of the token, hex. */
    digest: string
    /** Names of scopes, or `*`. */
    scopes: readonly string[]
    /** ISO 8601 UTC; `null` for a key that never expires. */
    expiresAt: string | null
    issuedAt: string
  }
>
export type ApiKeyRevoked = Event<'ApiKeyRevoked', { revokedAt: string }>

export type ApiKeyEvent = ApiKeyIssued | ApiKeyRevoked
