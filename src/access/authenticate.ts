/**
 * Resolves bearer tokens to callers. Results are cached for one second, so a revoked key works at most that long in a
 * process that was not notified; `forget` notifies it. Memory is bounded for any input.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../core/ids.ts'
import type { Environment } from '../core/networks.ts'
import type { ApiKey, ApiKeyRows } from './api-key-rows.ts'
import { digestOf, isToken } from './token.ts'

/** Cache time of a valid key, ms. */
const REMEMBER_MS = 1_000
/** Cache time of an invalid token, ms: enough to protect the database from a client that keeps retrying. */
const REMEMBER_REFUSED_MS = 250
/** About a kilobyte each. Invalid tokens have a separate cache, so that they cannot evict valid keys. */
const MAX_REMEMBERED = 10_000

/** The caller of a request. */
export type Caller = {
  readonly tenantId: string
  readonly keyId: string
  /** Each key belongs to one environment. */
  readonly environment: Environment
  /** Each scope that the key holds, by name. */
  readonly scopes: ReadonlySet<string>
}

export type ApiKeyAuthenticator = {
  /** A caller whose key was verified in the last second; undefined when the database must be asked. */
  readonly recall: (token: string) => Caller | undefined
  /**
   * The caller; null for a key that is unknown, expired or revoked.
   *
   * @throws Unavailable when the database does not answer: the key may be valid
   */
  readonly verify: (token: string) => Promise<Caller | null>
  /** Makes the next request of this key query the database. */
  readonly forget: (keyId: string) => void
}

type Known = { readonly caller: Caller; readonly goodUntilMs: number }

export function createAuthenticator({
  keys,
  clock,
}: {
  keys: Pick<ApiKeyRows, 'byDigest'>
  clock: Clock
}): ApiKeyAuthenticator {
  const known = new LRUCache<string, Known>({ max: MAX_REMEMBERED })
  const refusedUntilMs = new LRUCache<string, number>({ max: MAX_REMEMBERED })
  const underWay = new Map<string, Promise<Caller | null>>()
  let forgotten = 0

  async function ask(digest: string): Promise<Caller | null> {
    const askedMs = clock()
    const forgottenBefore = forgotten
    const found = await keys.byDigest(digest)
    const expiresMs = found?.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
    if (found === undefined || found.revokedAt !== null || expiresMs <= clock()) {
      refusedUntilMs.set(digest, askedMs + REMEMBER_REFUSED_MS)
      return null
    }
    const caller = toCaller(found)
    // A result read before `forget` was called may be outdated: it serves this request only and is not cached.
    if (forgotten === forgottenBefore)
      known.set(digest, { caller, goodUntilMs: Math.min(askedMs + REMEMBER_MS, expiresMs) })
    return caller
  }

  return {
    recall(token) {
      const entry = known.get(digestOf(token))
      return entry !== undefined && clock() < entry.goodUntilMs ? entry.caller : undefined
    },

    async verify(token) {
      if (!isToken(token)) return null
      const digest = digestOf(token)
      if (clock() < (refusedUntilMs.get(digest) ?? 0)) return null
      // Requests that miss the cache at the same time share one query.
      const asked = underWay.get(digest) ?? ask(digest).finally(() => underWay.delete(digest))
      underWay.set(digest, asked)
      return asked
    },

    forget(keyId) {
      forgotten += 1
      underWay.clear()
      for (const [digest, { caller }] of known.entries()) if (caller.keyId === keyId) known.delete(digest)
    },
  }
}

function toCaller({ tenantId, keyId, environment, grants }: ApiKey): Caller {
  return { tenantId, keyId, environment, scopes: new Set(grants) }
}
