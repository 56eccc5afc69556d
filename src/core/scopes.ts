/**
 * What an API key may do: a resource and a verb. Scopes are recorded in events, so a name never changes its meaning.
 */

/** Stands for all scopes, including those of later versions, except those that must be named explicitly. */
export const ALL_SCOPES = '*'

/**
 * Scopes that a key has only if it was issued with them by name. An exported key can spend permanently without this
 * service, so a key issued for `*`, perhaps before exports existed, must not gain that right.
 */
const BY_NAME_ALONE: ReadonlySet<string> = new Set(['recovery:export'])

/** Whether a key with these scopes has the given scope. */
export function allows(held: ReadonlySet<string>, scope: string): boolean {
  return held.has(scope) || (held.has(ALL_SCOPES) && !BY_NAME_ALONE.has(scope))
}
