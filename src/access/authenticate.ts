/**
 * Resolves bearer tokens to callers. Memory is bounded for any input.
 *
 * Invariant: a caller rests on a read of its key that began at most a second before its request, however long the read takes.
 * So a change of a key, such as its revocation, is effective in every process within a second, whether or not the process was
 * notified or reaches the database; in the process that made it, at once (`forget`). Ages are measured with a timer that no
 * clock sets.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../core/ids.ts'
import { type RequestLimit, requestLimitsOf } from '../core/key-limits.ts'
import type { Environment } from '../core/networks.ts'
import { rangeCheck } from './allowlist.ts'
import type { ApiKeyRows, LoggedApiKey } from './api-key-rows.ts'
import { digestOf, isToken } from './token.ts'

/** How long a read counts from its begin, ms. */
const REMEMBER_MS = 1_000
/** Cache time of an invalid token, ms: enough to protect the database from a client that keeps retrying. */
const REMEMBER_REFUSED_MS = 250
/** About a kilobyte each. Invalid tokens have a separate cache, so that they cannot evict valid keys. */
const MAX_REMEMBERED = 10_000
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
  /** What each of its requests counts towards. */
  readonly requestLimits: readonly RequestLimit[]
  /** By the timer. The key must be verified again before anything is accepted later. */
  readonly goodUntilMs: number
}

export type ApiKeyAuthenticator = {
  /** A caller whose key was read in the last second, from the begin of the read; undefined when the database must be asked. */
  readonly recall: (token: string) => Caller | undefined
  /**
   * The caller; null for a key that is unknown, expired or revoked. It waits as long as the database takes.
   *
   * @throws Unavailable when the database does not answer: the key may be valid
   */
  readonly verify: (token: string) => Promise<Caller | null>
  /** Makes the next request of this key query the database. */
  readonly forget: (keyId: string) => void
}

export function createAuthenticator({
  keys,
  clock,
  timer,
  onUse,
}: {
  readonly keys: Pick<ApiKeyRows, 'byDigest'>
  /** The time of day, for expiry. */
  readonly clock: Clock
  /** Ms since any moment, monotonic. */
  readonly timer: Clock
  /** Called for a key that is used, at least once a day (UTC) on which it is. */
  readonly onUse?: (keyId: string, nowMs: number) => void
}): ApiKeyAuthenticator {
  const known = new LRUCache<string, Caller>({ max: MAX_REMEMBERED })
  const refusedUntilMs = new LRUCache<string, number>({ max: MAX_REMEMBERED })
  const underWay = new Map<string, { readonly beganMs: number; readonly caller: Promise<Caller | null> }>()
  let forgotten = 0

  async function ask(digest: string, beganMs: number): Promise<Caller | null> {
    const forgottenBefore = forgotten
    const found = await keys.byDigest(digest)
    const [answeredMs, nowMs] = [timer(), clock()]
    const leftMs = (found?.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY) - nowMs
    if (found === undefined || found.revokedAt !== null || leftMs <= 0) {
      refusedUntilMs.set(digest, beganMs + REMEMBER_REFUSED_MS)
      return null
    }
    onUse?.(found.keyId, nowMs)
    const endsMs = answeredMs + Math.min(leftMs, DAY_MS - (nowMs % DAY_MS))
    const caller = toCaller(found, Math.min(beganMs + REMEMBER_MS, endsMs))
    // A result read before `forget` was called may be outdated: it serves the requests that wait for it and is not cached.
    if (forgotten === forgottenBefore) known.set(digest, caller)
    return caller
  }

  /** Requests that miss the cache at the same time share one query, if it began late enough for each of them. */
  function shared(digest: string): Promise<Caller | null> {
    const beganMs = timer()
    const before = underWay.get(digest)
    if (before !== undefined && beganMs - before.beganMs < REMEMBER_MS) return before.caller
    const caller = ask(digest, beganMs).finally(() => {
      if (underWay.get(digest)?.caller === caller) underWay.delete(digest)
    })
    underWay.set(digest, { beganMs, caller })
    return caller
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
      return shared(digest)
    },

    forget(keyId) {
      forgotten += 1
      underWay.clear()
      for (const [digest, caller] of known.entries()) if (caller.keyId === keyId) known.delete(digest)
    },
  }
}

function toCaller(
  { tenantId, keyId, environment, grants, ipAllowlist, limits }: LoggedApiKey,
  goodUntilMs: number,
): Caller {
  const allowsAddress = ipAllowlist.length === 0 ? null : rangeCheck(ipAllowlist)
  const requestLimits = requestLimitsOf(limits)
  return { tenantId, keyId, environment, scopes: new Set(grants), allowsAddress, requestLimits, goodUntilMs }
}
