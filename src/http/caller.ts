/** Who sends a request, as the routes see it, and the port through which a key becomes a caller. */
import { PermissionDenied } from '../core/errors.ts'
import type { Environment } from '../core/networks.ts'

export type Caller = {
  readonly tenantId: string
  readonly keyId: string
  /** A key is made for one environment. */
  readonly environment: Environment
  /** Names of scopes, or `*`: `allows` says what follows. */
  readonly scopes: ReadonlySet<string>
}

/**
 * Turns a bearer token into a caller. Two methods, so that a known key costs no promise. Anybody may send any number of
 * tokens: `verify` bounds what they cost the database.
 */
export type Authenticator = {
  /** A caller whose key was verified lately, from memory alone; undefined when only the database can tell. */
  readonly recall: (token: string) => Caller | undefined
  /** The caller; null for a key that is unknown, expired or revoked. */
  readonly verify: (token: string) => Promise<Caller | null>
}

/**
 * The environment that a request speaks of: the one it names, else the key's.
 *
 * @throws PermissionDenied `environment_mismatch` when the key is made for the other one
 */
export function environmentOf(caller: Caller, requested: Environment | undefined): Environment {
  if (requested !== undefined && requested !== caller.environment) {
    throw new PermissionDenied(
      'environment_mismatch',
      `The API key is for ${caller.environment} but the request names ${requested}: use a key for ${requested}.`,
    )
  }
  return caller.environment
}
