/** The events of an API key. Only the digest of the key is recorded. */

import type { KeyLimit } from '../core/key-limits.ts'
import type { Event } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import type { PolicyPart } from '../core/policy-part.ts'

/** What a key may do, and from where. */
export type KeyTerms = {
  readonly label: string
  /** As they were asked for: names of scopes, or `*`. */
  readonly scopes: readonly string[]
  /** Each scope that the key holds, by name; `*` as well for a key that was issued for it. */
  readonly grants: readonly string[]
  /** ISO 8601 UTC; `null` for a key that never expires. */
  readonly expiresAt: string | null
  /** CIDR ranges without host bits; from anywhere if there are none. */
  readonly ipAllowlist: readonly string[]
  readonly limits: readonly KeyLimit[]
}

/** `policy`: which one judged the request; missing where none was in force, for keys of an operator, and in older events. */
export type ApiKeyIssued = Event<
  'ApiKeyIssued',
  KeyTerms & {
    readonly tenantId: string
    readonly environment: Environment
    /** SHA-256 of the token, hex. */
    readonly digest: string
    /** The key whose request it was; `null` for one that an operator issued. */
    readonly issuedBy: string | null
    /** The key that it replaces. */
    readonly rotatedFrom: string | null
    readonly policy?: PolicyPart
    readonly issuedAt: string
  }
>
/** The terms after the change. */
export type ApiKeyChanged = Event<
  'ApiKeyChanged',
  KeyTerms & { readonly changedBy: string; readonly policy?: PolicyPart; readonly changedAt: string }
>
/** Another key replaces it. It works until `overlapEndsAt`, if it does not expire before. */
export type ApiKeyRotated = Event<
  'ApiKeyRotated',
  { readonly rotatedTo: string; readonly overlapEndsAt: string; readonly rotatedAt: string }
>
/** Recorded some time after it stopped to work, which follows from its terms. */
export type ApiKeyExpired = Event<'ApiKeyExpired', { readonly expiredAt: string }>

/** `reported`: somebody who had its token reported it. */
export const REVOCATION_REASONS = ['requested', 'reported'] as const
export type RevocationReason = (typeof REVOCATION_REASONS)[number]
export type ApiKeyRevoked = Event<'ApiKeyRevoked', { readonly reason: RevocationReason; readonly revokedAt: string }>

export type ApiKeyEvent = ApiKeyIssued | ApiKeyChanged | ApiKeyRotated | ApiKeyExpired | ApiKeyRevoked
