/** BullMQ on Redis or Redis Cluster, through ioredis. */
import { once } from 'node:events'
import { type ConnectionOptions, createRedisBackend } from 'bullmq'
import { Cluster, Redis } from 'ioredis'
import { POLL_SECONDS, type Wiring } from './bull.ts'

const CONNECT_TIMEOUT_MS = 3_000
/** Maximum delay between reconnects: a recovered Redis is found within a second. */
const MAX_RECONNECT_MS = 1_000
/** The longest command, a worker's wait for a job, answers within 5 s: after twice that the connection is dead. */
const SILENCE_MS = 10_000
/** Of each queue on the one client of a process; Node warns of a leak at more than ten listeners. */
const LISTENERS_OF_QUEUE = 4

type Patience = { readonly enableOfflineQueue: boolean; readonly maxRetriesPerRequest: number | null }
/** For producers: without a connection a command fails immediately instead of waiting in memory. */
const PRODUCER: Patience = { enableOfflineQueue: false, maxRetriesPerRequest: 0 }
/** For consumers: wait for Redis to come back, as BullMQ requires. */
const CONSUMER: Patience = { enableOfflineQueue: true, maxRetriesPerRequest: null }

/**
 * @param redisUrl `redis://` or `rediss://` for a single server; `redis+cluster://` or `rediss+cluster://` for a cluster,
 *   with more of its nodes after commas: `redis+cluster://user:password@a:6379,b:6379`
 * @param queues how many there are
 */
export function redisWiring(
  redisUrl: string,
  queues: number,
  onError: (error: unknown, fields: object) => void,
): Wiring<ConnectionOptions> {
  const open: (Redis | Cluster)[] = []
  const keep = (client: Redis | Cluster) => {
    client.setMaxListeners(LISTENERS_OF_QUEUE * queues)
    client.on('error', (error) => onError(error, {}))
    open.push(client)
    return client
  }
  const connectOnce = (patience: Patience) => {
    let client: Redis | Cluster | null = null
    return () => {
      if (client === null) {
        client = keep(newClient(redisUrl, patience))
        keepCopies(client, keep)
      }
      return client
    }
  }
  const producer = connectOnce(PRODUCER)

  return {
    factory: createRedisBackend,
    async prepare() {
      const client = producer()
      if (client.status !== 'ready') await once(client, 'ready', { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) })
    },
    producer,
    consumer: connectOnce(CONSUMER),
    locks: null,
    look: null,
    pollSeconds: POLL_SECONDS,
    async close() {
      for (const client of open) end(client)
    },
  }
}

/** ioredis states of a client that is between two reconnects, or was closed while it was. */
const LOST = ['reconnecting', 'disconnecting']

/**
 * Ends a client and every command that waits on it. A disconnected client that is closed never emits its end, and
 * callers of its commands would wait endlessly: one more connection attempt makes it end.
 */
function end(client: Redis | Cluster): void {
  const isLost = LOST.includes(client.status)
  client.disconnect()
  if (!isLost) return
  client.once('ready', () => client.disconnect())
  client.connect().catch(() => undefined) // Expected to fail.
}

/** BullMQ copies a client for each waiting worker, and cannot end the copy while Redis is down. */
function keepCopies(client: Redis | Cluster, keep: (copy: Redis | Cluster) => void): void {
  const duplicate = client.duplicate.bind(client) as (...args: unknown[]) => Redis | Cluster
  const keeping = (...args: unknown[]) => {
    const copy = duplicate(...args)
    keep(copy)
    return copy
  }
  Object.assign(client, { duplicate: keeping })
}

function newClient(redisUrl: string, { enableOfflineQueue, maxRetriesPerRequest }: Patience): Redis | Cluster {
  const retry = (times: number) => Math.min(50 * 2 ** times, MAX_RECONNECT_MS)
  const common = { maxRetriesPerRequest, connectTimeout: CONNECT_TIMEOUT_MS, socketTimeout: SILENCE_MS }
  const cluster = parseClusterUrl(redisUrl)
  if (cluster === null) return new Redis(redisUrl, { ...common, enableOfflineQueue, retryStrategy: retry })
  const { nodes, ...login } = cluster
  return new Cluster(nodes, { enableOfflineQueue, clusterRetryStrategy: retry, redisOptions: { ...common, ...login } })
}

type ClusterUrl = {
  readonly nodes: string[]
  readonly username?: string
  readonly password?: string
  readonly tls?: object
}

/** The parts of a cluster URL, or null for any other. */
export function parseClusterUrl(redisUrl: string): ClusterUrl | null {
  const found = /^(rediss?)\+cluster:\/\/(?:([^:@]*)(?::([^@]*))?@)?(.+?)\/?$/.exec(redisUrl)
  if (found === null) return null
  const [, scheme, username = '', password = '', nodes = ''] = found
  return {
    nodes: nodes.split(',').map((node) => `${scheme}://${node}`),
    ...(username ? { username: decodeURIComponent(username) } : {}),
    ...(password ? { password: decodeURIComponent(password) } : {}),
    ...(scheme === 'rediss' ? { tls: {} } : {}),
  }
}
