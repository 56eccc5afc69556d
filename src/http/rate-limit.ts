/**
 * Rate limits: requests per key, requests per client address on public routes, and explained authentication failures
 * per address. Every response to a known key has the `RateLimit-*` headers of draft-ietf-httpapi-ratelimit-headers-03.
 */
import { isIPv6 } from 'node:net'
import type { FastifyReply } from 'fastify'
import type { Clock } from '../core/ids.ts'
import { RateLimited } from './http-errors.ts'
import { TokenBuckets } from './token-buckets.ts'

/** Keys or addresses remembered at once: about 10 MB when full. */
const MAX_KEYS = 50_000

/**
 * Authentication failures that an address may have at once and per second before it gets 429. Generous, for an office
 * behind one address; keys cannot be guessed anyway. Only failures count: a valid key is served whatever else its
 * address sends.
 */
const FAILURES = { capacity: 100, refillPerSecond: 5, maxKeys: MAX_KEYS }

export type RateLimit = {
  /** @returns the refusal when the key is over its rate */
  readonly admit: (keyId: string, reply: FastifyReply) => RateLimited | null
  /** The same for requests without a key. @param cost the number of requests it counts as */
  readonly admitAddress: (address: string, reply: FastifyReply, cost: number) => RateLimited | null
  /** Counts one authentication failure. @returns the refusal when the address has failed too often */
  readonly admitFailure: (address: string) => RateLimited | null
}

/** @param perSecond requests per second, and burst, of a key, or of an address without one; 0 turns the limit off */
export function createRateLimit(perSecond: number, clock: Clock): RateLimit {
  const rules = { capacity: perSecond, refillPerSecond: perSecond, maxKeys: MAX_KEYS }
  const keys = new TokenBuckets(rules, clock)
  // Separate from the keys: addresses are free for an attacker, and must not evict keys from memory.
  const addresses = new TokenBuckets(rules, clock)
  const failures = new TokenBuckets(FAILURES, clock)
  return {
    admit: perSecond === 0 ? () => null : (keyId, reply) => admit(keys, keyId, reply, 1),
    admitAddress:
      perSecond === 0 ? () => null : (address, reply, cost) => admit(addresses, addressKey(address), reply, cost),
    admitFailure: (address) => {
      const key = addressKey(address)
      return failures.take(key) === -1 ? new RateLimited(failures.secondsUntilOne(key)) : null
    },
  }
}

function admit(buckets: TokenBuckets, key: string, reply: FastifyReply, cost: number): RateLimited | null {
  const left = buckets.take(key, cost)
  reply.header('ratelimit-limit', buckets.capacity)
  reply.header('ratelimit-remaining', left < 1 ? 0 : Math.floor(left))
  reply.header('ratelimit-reset', buckets.secondsToGain(buckets.capacity - Math.max(0, left)))
  return left === -1 ? new RateLimited(buckets.secondsUntilOne(key)) : null
}

/** One client controls a whole IPv6 /64, so the /64 counts; each IPv4 address counts on its own. */
export function addressKey(address: string): string {
  if (!isIPv6(address)) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail] = address.split('%')[0]?.split('::') ?? []
  const groups = head === '' ? [] : head.split(':')
  const zeros = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length)
  const all = [...groups, ...Array<string>(Math.max(0, zeros)).fill('0'), ...(tail ?? '').split(':')]
  return `${all.slice(0, 4).join(':')}::/64`
}
