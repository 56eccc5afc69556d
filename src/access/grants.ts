/** Which scopes a key holds, by name: what `*` stands for is decided when a key is issued, and recorded. Pure. */
import { ALL_SCOPES } from '../core/scopes.ts'

/**
 * Scopes that a key has only if it was issued with them by name: with one of them a thief gains more than a request
 * gives, such as another key, a copy of a wallet's key, signatures that anybody can use later, or all events of a tenant.
 */
const BY_NAME_ALONE: ReadonlySet<string> = new Set([
  'api_keys:read',
  'api_keys:write',
  'recovery:export',
  'recovery:read',
  'recovery:write',
  'signatures:read',
  'signatures:write',
  'webhooks:write',
])

/** What `*` stood for in keys that were issued before it was recorded. It never changes. */
const BEFORE_RECORDED = [
  'wallets:read',
  'wallets:write',
  'transactions:read',
  'transactions:write',
  'signatures:read',
  'signatures:write',
  'assets:read',
  'assets:write',
  'nft:read',
  'nft:write',
  'recovery:read',
  'recovery:write',
  'audit:read',
  'events:read',
  'webhooks:read',
  'webhooks:write',
] as const

/** What a new key holds. @param known every scope of this version */
export function grantsOf(scopes: readonly string[], known: readonly string[]): readonly string[] {
  return expanded(
    scopes,
    known.filter((scope) => !BY_NAME_ALONE.has(scope)),
  )
}

/** What a key of schema version 1 holds. */
export function grantsBefore(scopes: readonly string[]): readonly string[] {
  return expanded(scopes, BEFORE_RECORDED)
}

function expanded(scopes: readonly string[], all: readonly string[]): readonly string[] {
  return scopes.includes(ALL_SCOPES) ? [...new Set([ALL_SCOPES, ...all, ...scopes])] : [...new Set(scopes)]
}
