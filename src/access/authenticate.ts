/**
 * Turns bearer tokens into callers. What the database said is remembered for one second, so a revoked key works at most
 * that long in a process that was not told; `forget` tells it. Memory is bounded, whatever is sent.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../core/ids.ts'
import type { Environment } from '../core/networks.ts'
import type { ApiKey, ApiKeyRows } from './api-key-rows.ts'
import { digestOf, isToken } from './token.ts'

/** How long a key that was good may go on unasked. */
const REMEMBER_MS = 1_000
/** How long a bad token is refused unasked: enough to spare the database a client that tries again and again. */
const REMEMBER_REFUSED_MS = 250
/** About a kilobyte each. Bad tokens have a cache of their own: whoever sends many cannot push out the good ones. */
const MAX_REMEMBERED = 10_000

/** Who sends a request. */
export type Caller = {
  readonly tenantId: string
  readonly keyId: string
  /** A key is made for one environment. */
  readonly environment: Environment
  /** Names of scopes, or `*`. */
  readonly scopes: ReadonlySet<string>
}

export type ApiKeyAuthenticator = {
  /** A caller whose key was verified in the last second; undefined when only the database can tell. */
  readonly recall: (token: string) => Caller | undefined
  /**
   * The caller; null for a key that is unknown, expired or revoked, in the same way for each.
   *
   * @throws Unavailable when the database does not answer: the key may be good
   */
  readonly verify: (token: string) => Promise<Caller | null>
  /** Makes the next request of this key ask the database. */
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
    // What was read before somebody said `forget` may be what was to be forgotten: it serves this request, no other.
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
      // Requests that find a memory faded at the same moment ask once.
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

function toCaller({ tenantId, keyId, environment, scopes }: ApiKey): Caller {
  return { tenantId, keyId, environment, scopes: new Set(scopes) }
}
