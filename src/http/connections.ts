/**
 * Connection limits: time for a request to arrive, idle time, and number of connections in total and per address. A
 * slow or greedy client loses only its own connections.
 */
import { BlockList, isIPv6, type Socket } from 'node:net'
import type { FastifyHttpOptions, RawServerDefault } from 'fastify'
import type { Metrics } from './metrics.ts'
import { addressKey } from './rate-limit.ts'
import type { App } from './request.ts'

export type ConnectionLimits = {
  /** Time for a request to arrive, headers and body. */
  readonly requestTimeoutMs: number
  /** Time that a connection may wait for its next request. */
  readonly keepAliveTimeoutMs: number
  /** Maximum concurrent connections. */
  readonly max: number
  /** Maximum concurrent connections per address; trusted proxies are not limited. */
  readonly maxPerAddress: number
  /** Requests on one connection; 0 for no limit. */
  readonly maxRequests: number
}

/**
 * A connection without traffic in either direction is closed after this time: the client is not reading the response.
 * Twice the longest wait that a request may ask for.
 */
const SILENCE_MS = 120_000
/** Interval at which Node checks for slow requests; with its default of 30 s they would live that much longer. */
const LOOK_AT_MOST_EVERY_MS = 1_000

/** The Fastify options that limit connections. */
export function connectionOptions(limits: ConnectionLimits) {
  const { requestTimeoutMs } = limits
  return {
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionTimeout: SILENCE_MS,
    http: {
      headersTimeout: requestTimeoutMs,
      requestTimeout: requestTimeoutMs,
      connectionsCheckingInterval: Math.min(LOOK_AT_MOST_EVERY_MS, Math.ceil(requestTimeoutMs / 10)),
    },
  } satisfies FastifyHttpOptions<RawServerDefault>
}

/**
 * Closes connections beyond the limits on arrival, and counts them. @param trustedProxies addresses, ranges, or names
 * of ranges
 */
export function limitConnections(
  app: App,
  limits: ConnectionLimits,
  { trustedProxies, metrics }: { readonly trustedProxies: readonly string[]; readonly metrics: Pick<Metrics, 'count'> },
): void {
  const trusted = rangesOf(trustedProxies)
  const open = new Map<string, number>()
  app.server.maxConnections = limits.max
  app.server.on('drop', () => metrics.count('bursar_http_connections_dropped_total', { limit: 'total' }))
  app.server.on('connection', (socket: Socket) => {
    const { remoteAddress = '' } = socket
    if (trusted.check(remoteAddress, isIPv6(remoteAddress) ? 'ipv6' : 'ipv4')) return
    const key = addressKey(remoteAddress)
    const others = open.get(key) ?? 0
    if (others >= limits.maxPerAddress) {
      metrics.count('bursar_http_connections_dropped_total', { limit: 'address' })
      socket.destroy()
      return
    }
    open.set(key, others + 1)
    socket.once('close', () => {
      const left = (open.get(key) ?? 1) - 1
      if (left === 0) open.delete(key)
      else open.set(key, left)
    })
  })
}

/**
 * Closes a connection after its maximum number of requests, with the response to the last one. Node's own limit would
 * leave it open and answer later requests with an empty 503.
 */
export function limitRequests(app: App, { maxRequests }: ConnectionLimits): void {
  if (maxRequests === 0) return
  const served = new WeakMap<Socket, number>()
  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw
    const count = (served.get(socket) ?? 0) + 1
    served.set(socket, count)
    if (count >= maxRequests) reply.header('connection', 'close')
    done()
  })
}

/** The range names that Fastify supports. */
const NAMED_RANGES: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
}

function rangesOf(proxies: readonly string[]): BlockList {
  const ranges = new BlockList()
  for (const range of proxies.flatMap((proxy) => NAMED_RANGES[proxy] ?? [proxy])) {
    const [address = '', bits] = range.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    ranges.addSubnet(address, bits === undefined ? (family === 'ipv6' ? 128 : 32) : Number(bits), family)
  }
  return ranges
}
