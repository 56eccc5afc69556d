/**
 * Resolves bearer tokens to callers. Memory is bounded for any input.
 *
 * Invariant: a caller rests on events that were read less than a second ago. So a change of a key, such as its revocation,
 * is effective in every process within a second, whether or not the process was notified or reaches the database; in the
 * process that made it, at once (`forget`). Ages are measured with a timer that no clock sets.
 */
import { LRUCache } from 'lru-cache'
import { Unavailable } from '../core/errors.ts'
import type { Clock } from '../core/ids.ts'
import type { Environment } from '../core/networks.ts'
import { rangeCheck } from './allowlist.ts'
import type { ApiKey, ApiKeyRows } from './api-key-rows.ts'
import { digestOf, isToken } from './token.ts'

/** How long a key that was read counts, ms. */
const REMEMBER_MS = 1_000
/** Cache time of an invalid token, ms: enough to protect the database from a client that keeps retrying. */
const REMEMBER_REFUSED_MS = 250
/** About a kilobyte each. Invalid tokens have a separate cache, so that they cannot evict valid keys. */
const MAX_REMEMBERED = 10_000
/** How often a database that takes longer than a second is asked for a request. */
const MAX_ASKED = 3
const DAY_MS = 86_400_000

/** The caller of a request. */
export type Caller = {
  readonly tenantId: string
  readonly keyId: string
  /** Each key belongs to one environment. */
  readonly environment: Environment
  /** Each scope that the key holds, by name. */
  readonly scopes: ReadonlySet<string>
  /** Whether the key may be used from an address; `null` if it may be used from any. */
  readonly allowsAddress: ((address: string) => boolean) | null
  /** By the timer. The key must be verified again before anything is accepted later. */
  readonly goodUntilMs: number
}

export type ApiKeyAuthenticator = {
  /** A caller whose key was read in the last second; undefined when the database must be asked. */
  readonly recall: (token: string) => Caller | undefined
  /**
   * The caller; null for a key that is unknown, expired or revoked.
   *
   * @throws Unavailable when the database does not answer within a second: the key may be valid
   */
  readonly verify: (token: string) => Promise<Caller | null>
  /** Makes the next request of this key query the database. */
  readonly forget: (keyId: string) => void
}

export type AuthenticatorPorts = {
  readonly keys: Pick<ApiKeyRows, 'byDigest'>
  /** The time of day, for expiry. */
  readonly clock: Clock
  /** Ms since any moment, monotonic. */
  readonly timer: Clock
  /** Called for a key that is used, at least once a day (UTC) on which it is. */
  readonly onUse?: (keyId: string, nowMs: number) => void
}

export function createAuthenticator({ keys, clock, timer, onUse }: AuthenticatorPorts): ApiKeyAuthenticator {
  const known = new LRUCache<string, Caller>({ max: MAX_REMEMBERED })
  const refusedUntilMs = new LRUCache<string, number>({ max: MAX_REMEMBERED })
  const underWay = new Map<string, Promise<Caller | null>>()
  let forgotten = 0

  async function ask(digest: string): Promise<Caller | null> {
    for (let asked = 1; asked <= MAX_ASKED; asked += 1) {
      const askedMs = timer()
      const forgottenBefore = forgotten
      const found = await keys.byDigest(digest)
      const nowMs = clock()
      const leftMs = (found?.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY) - nowMs
      if (found === undefined || found.revokedAt !== null || leftMs <= 0) {
        refusedUntilMs.set(digest, askedMs + REMEMBER_REFUSED_MS)
        return null
      }
      // It may have been revoked since.
      if (timer() - askedMs >= REMEMBER_MS) continue
      onUse?.(found.keyId, nowMs)
      const caller = toCaller(found, askedMs + Math.min(REMEMBER_MS, leftMs, DAY_MS - (nowMs % DAY_MS)))
      // A result read before `forget` was called may be outdated: it serves this request only and is not cached.
      if (forgotten === forgottenBefore) known.set(digest, caller)
      return caller
    }
    throw new Unavailable('database_unavailable', 'The database takes too long to answer: try again.')
  }

  return {
    recall(token) {
      const caller = known.get(digestOf(token))
      return caller !== undefined && timer() < caller.goodUntilMs ? caller : undefined
    },

    async verify(token) {
      if (!isToken(token)) return null
      const digest = digestOf(token)
      if (timer() < (refusedUntilMs.get(digest) ?? Number.NEGATIVE_INFINITY)) return null
      // Requests that miss the cache at the same time share one query.
      const asked = underWay.get(digest) ?? ask(digest).finally(() => underWay.delete(digest))
      underWay.set(digest, asked)
      return asked
    },

    forget(keyId) {
      forgotten += 1
      underWay.clear()
      for (const [digest, caller] of known.entries()) if (caller.keyId === keyId) known.delete(digest)
    },
  }
}

function toCaller({ tenantId, keyId, environment, grants, ipAllowlist }: ApiKey, goodUntilMs: number): Caller {
  const allowsAddress = ipAllowlist.length === 0 ? null : rangeCheck(ipAllowlist)
  return { tenantId, keyId, environment, scopes: new Set(grants), allowsAddress, goodUntilMs }
}
