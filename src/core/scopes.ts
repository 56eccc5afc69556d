/** What an API key may do: a resource and a verb. Scopes stand in events, so a name is never given another meaning. */

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

/** Stands in a key's scopes for all of them, those of later versions included; not for those that must be named. */
export const ALL_SCOPES = '*'

/**
 * What no key may do that was not made for it by name. An exported key spends for ever without this service, so a key that was
 * made for everything, perhaps before there were exports, must not come to it unseen.
 */
const BY_NAME_ALONE: ReadonlySet<string> = new Set<Scope>(['recovery:export'])

/** Whether a key with these scopes may do what a scope names. */
export function allows(held: ReadonlySet<string>, scope: Scope): boolean {
  return held.has(scope) || (held.has(ALL_SCOPES) && !BY_NAME_ALONE.has(scope))
}
