/** The HTTP settings of the API: what a request and a connection may use. */
import { isIP } from 'node:net'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { ruleOf } from './read-setting.ts'
import { list, milliseconds } from './schema-kinds.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

export const HTTP_SETTINGS = {
  BODY_LIMIT_BYTES: Type.Integer({
    minimum: 1_024,
    maximum: 16 * 1_024 * 1_024,
    default: 1_024 * 1_024,
    description:
      'Maximum size of a request body. It applies to routes that accept NFT metadata. The limit of other routes is 64 KiB, of signatures 256 KiB.',
  }),
  RATE_LIMIT_PER_SECOND: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    default: 100,
    description:
      'Maximum number of requests per second and API process for each API key, or for each address on routes without a key. It is also the size of a burst. 0 means no limit.',
  }),
  TRUSTED_PROXIES: list(
    '^([0-9.]+|[0-9a-fA-F:]+)(/[0-9]{1,3})?$|^(loopback|linklocal|uniquelocal)$',
    'must be a comma-separated list of addresses or CIDR ranges, such as 10.0.0.0/8',
    { description: 'Proxies whose `X-Forwarded-For` header is trusted.' },
  ),
  REQUEST_TIMEOUT_MS: milliseconds(
    { minimum: SECOND, maximum: 10 * MINUTE, default: 30 * SECOND },
    'Maximum time to receive a request with its headers and its body.',
  ),
  KEEP_ALIVE_TIMEOUT_MS: milliseconds(
    { minimum: SECOND, maximum: 10 * MINUTE, default: 72 * SECOND },
    'How long an idle connection is kept open. Set it longer than the idle timeout of the load balancer.',
  ),
  MAX_CONNECTIONS: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 4_000,
    description:
      'Maximum number of concurrent connections to one API process. Further connections are closed on arrival.',
  }),
  MAX_CONNECTIONS_PER_ADDRESS: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 1_000,
    description:
      'Maximum number of concurrent connections from one client address (IPv6: from one /64) to one API process. `TRUSTED_PROXIES` are exempt.',
  }),
  MAX_REQUESTS_PER_CONNECTION: Type.Integer({
    minimum: 0,
    maximum: 1_000_000_000,
    default: 10_000,
    description:
      'A connection is closed after this number of requests, so that clients are distributed again by the load balancer. 0 means no limit.',
  }),
  MAX_EVENT_STREAMS: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 1_000,
    description:
      'Maximum number of readers that wait for events at one API process: event streams, and requests with `wait`. Each needs a connection. At most 7 of 8 are of one tenant.',
  }),
  MAX_EVENT_STREAMS_PER_KEY: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 20,
    description: 'As `MAX_EVENT_STREAMS`, of one API key.',
  }),
}

export type HttpConfig = {
  readonly bodyLimitBytes: number
  readonly rateLimitPerSecond: number
  readonly trustedProxies: readonly string[]
  readonly connections: {
    readonly requestTimeoutMs: number
    readonly keepAliveTimeoutMs: number
    readonly max: number
    readonly maxPerAddress: number
    readonly maxRequests: number
  }
}

/** How many event streams may be open at one process, and how many of them with one API key. */
export type StreamLimits = { readonly ofProcess: number; readonly ofKey: number }

/** Trusted proxies that are not a valid address or range. */
export function httpProblems({ TRUSTED_PROXIES = [] }: Static<TObject<typeof HTTP_SETTINGS>>): string[] {
  const bad = TRUSTED_PROXIES.filter((proxy) => !/^[a-z]+$/.test(proxy) && !isRange(proxy))
  return bad.map((proxy) => `TRUSTED_PROXIES ${ruleOf(HTTP_SETTINGS.TRUSTED_PROXIES)}, not ${JSON.stringify(proxy)}`)
}

function isRange(proxy: string): boolean {
  const [address = '', bits = '0'] = proxy.split('/')
  return isIP(address) !== 0 && Number(bits) <= (isIP(address) === 6 ? 128 : 32)
}

export function httpConfig(input: Static<TObject<typeof HTTP_SETTINGS>>): HttpConfig {
  return {
    bodyLimitBytes: input.BODY_LIMIT_BYTES,
    rateLimitPerSecond: input.RATE_LIMIT_PER_SECOND,
    trustedProxies: input.TRUSTED_PROXIES ?? [],
    connections: {
      requestTimeoutMs: input.REQUEST_TIMEOUT_MS,
      keepAliveTimeoutMs: input.KEEP_ALIVE_TIMEOUT_MS,
      max: input.MAX_CONNECTIONS,
      maxPerAddress: input.MAX_CONNECTIONS_PER_ADDRESS,
      maxRequests: input.MAX_REQUESTS_PER_CONNECTION,
    },
  }
}

export function streamLimits(input: Static<TObject<typeof HTTP_SETTINGS>>): StreamLimits {
  return { ofProcess: input.MAX_EVENT_STREAMS, ofKey: input.MAX_EVENT_STREAMS_PER_KEY }
}
