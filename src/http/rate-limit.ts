/**
 * How often a key may call, how often a client address may where no key is needed, and how often its failures to authenticate
 * are explained. Every answer to a known key says where it stands, in the `RateLimit-*` headers of draft-ietf-httpapi-ratelimit-headers-03.
 */
import { isIPv6 } from 'node:net'
import type { FastifyReply } from 'fastify'
import type { Clock } from '../core/ids.ts'
import { RateLimited } from './http-errors.ts'
import { TokenBuckets } from './token-buckets.ts'

/** Keys or addresses remembered at once: about 10 MB when all are taken. */
const MAX_KEYS = 50_000

/**
 * Failures to authenticate that an address may have at once and in the long run, before it is told to come back later.
 * Generous, for an office of people behind one address; guessing is hopeless anyway. It counts failures alone: a key that is
 * good is served whatever else comes from its address.
 */
const FAILURES = { capacity: 100, refillPerSecond: 5, maxKeys: MAX_KEYS }

export type RateLimit = {
  /** @returns the refusal when the key is over its rate */
  readonly admit: (keyId: string, reply: FastifyReply) => RateLimited | null
  /** The same for who needs no key. @param cost as many requests this one counts for */
  readonly admitAddress: (address: string, reply: FastifyReply, cost: number) => RateLimited | null
  /** Counts one failure to authenticate. @returns the refusal when the address has failed too often */
  readonly admitFailure: (address: string) => RateLimited | null
}

/** @param perSecond requests that a key, or an address without one, may send each second, in a burst as well; 0 switches the limit off */
export function createRateLimit(perSecond: number, clock: Clock): RateLimit {
  const rules = { capacity: perSecond, refillPerSecond: perSecond, maxKeys: MAX_KEYS }
  const keys = new TokenBuckets(rules, clock)
  // Apart from the keys: addresses cost a stranger nothing, and must not push a key out of memory.
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

/** One client commands a whole IPv6 /64, so that is what counts; an IPv4 address counts by itself. */
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
