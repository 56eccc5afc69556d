/**
 * What an API key may do: a resource and a verb. Scopes are recorded in events, so a name never changes its meaning.
 */

export const SCOPES = [
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
  'recovery:export',
  'audit:read',
] as const
export type Scope = (typeof SCOPES)[number]

/** Stands for all scopes, including those of later versions, except those that must be named explicitly. */
export const ALL_SCOPES = '*'

/**
 * Scopes that a key has only if it was issued with them by name. An exported key can spend permanently without this
 * service, so a key issued for `*`, perhaps before exports existed, must not gain that right.
 */
const BY_NAME_ALONE: ReadonlySet<string> = new Set<Scope>(['recovery:export'])

/** Whether a key with these scopes has the given scope. */
export function allows(held: ReadonlySet<string>, scope: Scope): boolean {
  return held.has(scope) || (held.has(ALL_SCOPES) && !BY_NAME_ALONE.has(scope))
}
