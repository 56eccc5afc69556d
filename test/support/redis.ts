/**
 * A real Redis for tests: a `redis-server` of the PATH on a free port, which a test may stop, start and empty, or the
 * server of TEST_REDIS_URL. Without either, the tests on Redis are skipped with a message; under CI that is a failure.
 */
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { freePort } from '../../src/sandbox/ports.ts'
import { type Child, startChild, stopChild } from '../../src/sandbox/processes.ts'

export type TestRedis = {
  /** The value for REDIS_URL. */
  readonly url: string
  /** Deletes all data. */
  readonly empty: () => Promise<void>
  /** Closes the connections of all other clients. */
  readonly cutConnections: () => Promise<void>
  /**
   * Ends the server without saving; `start` starts it again, empty, at the same address. Null when the test did not
   * start it.
   */
  readonly server: { readonly stop: () => Promise<void>; readonly start: () => Promise<void> } | null
  readonly close: () => Promise<void>
}

const CUT = ['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'] as const
/** Far longer than a kill takes; the timer keeps this process alive until the server has exited. */
const KILL_TIMEOUT_MS = 10_000

/** The Redis for tests, or null after reporting that there is none. */
export async function startTestRedis(options: { readonly cluster?: boolean } = {}): Promise<TestRedis | null> {
  const { TEST_REDIS_URL: url, CI: ci } = process.env
  if (spawnSync('redis-server', ['--version']).status === 0) return startOwnRedis(options.cluster ?? false)
  if (url && !options.cluster) return useRedis(url)
  const reason = 'no redis-server on the PATH and no TEST_REDIS_URL'
  if (ci) throw new Error(`the tests on Redis must run in CI: ${reason}`)
  process.stderr.write(`SKIPPED: the tests on Redis${options.cluster ? ' Cluster' : ''}: ${reason}\n`)
  return null
}

async function startOwnRedis(cluster: boolean): Promise<TestRedis> {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-redis-'))
  const port = await freePort()
  const address = `127.0.0.1:${port}`
  let child: Child | null = null

  async function start(): Promise<void> {
    // A single node does not learn its own address from others.
    const clusterArgs = [
      '--cluster-enabled yes',
      '--cluster-announce-ip 127.0.0.1',
      `--cluster-port ${await freePort()}`,
    ]
    const memoryOnly = ['--save', '', '--appendonly', 'no']
    child = await startChild({
      command: 'redis-server',
      args: [
        '--port',
        String(port),
        '--bind',
        '127.0.0.1',
        ...memoryOnly,
        ...(cluster ? clusterArgs.flatMap((arg) => arg.split(' ')) : []),
      ],
      cwd: directory,
      logFile: join(directory, 'redis.log'),
      onParentDeath: 'TERM',
    })
    child.unref()
    await whenReady(`redis://${address}`, cluster)
  }
  async function stop(): Promise<void> {
    if (child) await stopChild(child, 'SIGKILL', KILL_TIMEOUT_MS)
    child = null
  }

  await start()
  return {
    url: `${cluster ? 'redis+cluster' : 'redis'}://${address}`,
    empty: () => command(`redis://${address}`, 'FLUSHALL'),
    cutConnections: () => command(`redis://${address}`, ...CUT),
    server: { stop, start },
    async close() {
      await stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

function useRedis(url: string): TestRedis {
  return {
    url,
    empty: () => command(url, 'FLUSHDB'),
    cutConnections: () => command(url, ...CUT),
    server: null,
    close: () => Promise.resolve(),
  }
}

async function whenReady(url: string, cluster: boolean): Promise<void> {
  const client = new Redis(url, { retryStrategy: () => 20, maxRetriesPerRequest: 200 })
  client.on('error', () => undefined) // Expected until the server listens.
  try {
    await client.ping()
    if (!cluster) return
    const [, slots = ''] = /cluster_slots_assigned:(\d+)/.exec(String(await client.call('CLUSTER', 'INFO'))) ?? []
    if (slots !== '16384') await client.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
    while (!String(await client.call('CLUSTER', 'INFO')).includes('cluster_state:ok')) await sleep(20)
  } finally {
    client.disconnect()
  }
}

async function command(url: string, name: string, ...args: string[]): Promise<void> {
  const client = new Redis(url)
  await client.call(name, ...args).finally(() => client.disconnect())
}
