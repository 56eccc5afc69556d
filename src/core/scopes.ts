/**
 * What an API key may do: a resource and a verb. Scopes are recorded in events, so a name never changes its meaning.
 */

/**
 * Asks for all scopes that need not be named. What it stood for is recorded when a key is issued; a key that was issued
 * for it also sees what no scope names.
 */
export const ALL_SCOPES = '*'

/** A scope, or several of which each is sufficient. */
export type Guard = string | readonly string[]

/** What is special about a scope. */
export type ScopeTerms = {
  /**
   * A key has it only if it was issued with it by name, not as part of `*`: with it a thief gains more than a request
   * gives, such as another key, a copy of a wallet's key, signatures that anybody can use later, or all events of a tenant.
   */
  readonly byNameAlone?: true
  /** It spends what no limit counts: with a signature or the key of a wallet anybody can, at any time. */
  readonly isUncounted?: true
}
/** By name: every scope of this version. */
export type ScopeRules = Readonly<Record<string, ScopeTerms>>

/** Whether a key that holds these scopes, each by its name, passes. */
export function allows(held: ReadonlySet<string>, guard: Guard): boolean {
  return typeof guard === 'string' ? held.has(guard) : guard.some((scope) => held.has(scope))
}

/** The scope to ask for. */
export function scopeOf(guard: Guard): string {
  return typeof guard === 'string' ? guard : (guard[0] ?? ALL_SCOPES)
}

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

/** What a new key holds. */
export function grantsOf(scopes: readonly string[], known: ScopeRules): readonly string[] {
  const all = Object.entries(known).flatMap(([scope, { byNameAlone }]) => (byNameAlone ? [] : [scope]))
  return expanded(scopes, all)
}

/** What a key of schema version 1 holds. */
export function grantsBefore(scopes: readonly string[]): readonly string[] {
  return expanded(scopes, BEFORE_RECORDED)
}

function expanded(scopes: readonly string[], all: readonly string[]): readonly string[] {
  return scopes.includes(ALL_SCOPES) ? [...new Set([ALL_SCOPES, ...all, ...scopes])] : [...new Set(scopes)]
}
