/** The authenticated caller of a request, and the port that resolves a key to a caller. */
import { PermissionDenied } from '../core/errors.ts'
import type { RequestLimit } from '../core/key-limits.ts'
import type { Environment } from '../core/networks.ts'

export type Caller = {
  readonly tenantId: string
  readonly keyId: string
  /** Each key belongs to one environment. */
  readonly environment: Environment
  /** Each scope that the key holds, by name: see `allows`. */
  readonly scopes: ReadonlySet<string>
  /** Whether the key may be used from an address; `null` if it may be used from any. */
  readonly allowsAddress: ((address: string) => boolean) | null
  /** What each of its requests counts towards. */
  readonly requestLimits: readonly RequestLimit[]
  /** Ms of `performance.now()`. The key must be verified again before a request is accepted later. */
  readonly goodUntilMs: number
}

/**
 * Resolves a bearer token to a caller. Two methods, so that a cached key needs no promise. Anybody may send any number
 * of tokens: `verify` limits their cost for the database.
 */
export type Authenticator = {
  /** A caller whose key was verified recently, from memory only; undefined when the database must be asked. */
  readonly recall: (token: string) => Caller | undefined
  /** The caller; null for a key that is unknown, expired or revoked. */
  readonly verify: (token: string) => Promise<Caller | null>
}

/**
 * The environment of a request: the one it names, or the key's.
 *
 * @throws PermissionDenied `environment_mismatch` when the key belongs to the other one
 */
export function environmentOf(caller: Pick<Caller, 'environment'>, requested: Environment | undefined): Environment {
  if (requested !== undefined && requested !== caller.environment) {
    throw new PermissionDenied(
      'environment_mismatch',
      `The API key is for ${caller.environment} but the request names ${requested}: use a key for ${requested}.`,
    )
  }
  return caller.environment
}
