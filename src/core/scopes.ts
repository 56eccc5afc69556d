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

/** Whether a key that holds these scopes, each by its name, passes. */
export function allows(held: ReadonlySet<string>, guard: Guard): boolean {
  return typeof guard === 'string' ? held.has(guard) : guard.some((scope) => held.has(scope))
}

/** As part of a sentence. */
export function guardText(guard: Guard): string {
  return [guard].flat().join(' or ')
}
