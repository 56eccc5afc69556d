/**
 * The built service behind proxies: all traffic with its database and its nodes passes through here, and may be
 * falsified.
 */
import { readFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NETWORKS, type Network } from '../../src/core/networks.ts'
import { type DatabaseProxy, startDatabaseProxy } from './database-proxy.ts'
import { type Service, startService } from './service.ts'
import { type NodeProxy, startNodeProxy } from './service-node-proxy.ts'

export type World = {
  readonly service: Service
  readonly nodes: Readonly<Record<Network, NodeProxy>>
  readonly database: DatabaseProxy
  /** Every proxy passes everything on again. */
  readonly calm: () => void
  /** Stops the service as Ctrl-C does; its directory is kept. */
  readonly stop: () => Promise<void>
  readonly close: () => Promise<void>
}

const SCRIPT = fileURLToPath(new URL('./sandbox-behind-proxies.mjs', import.meta.url))

/** @param env settings of the service in addition to the sandbox's own */
export async function startWorld(env: Readonly<Record<string, string>> = {}): Promise<World> {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-faults-'))
  const portIn = (...path: string[]) => Number(readFileSync(join(directory, 'data', ...path, 'port'), 'utf8'))
  const proxies = await Promise.all(
    NETWORKS.map((network) => startNodeProxy(() => `http://127.0.0.1:${portIn('chains', network)}`)),
  )
  const nodes = Object.fromEntries(NETWORKS.map((network, index) => [network, proxies[index]])) as World['nodes']
  const database = await startDatabaseProxy(() => portIn('postgres'))
  const ports = Object.fromEntries(Object.entries(nodes).map(([network, { url }]) => [network, new URL(url).port]))
  const closeProxies = () => Promise.all([...proxies, database].map(({ close }) => close()))
  const starting = startService({
    directory,
    script: SCRIPT,
    env: { ...env, PROXIES: JSON.stringify({ postgres: database.port, ...ports }) },
  })
  const service = await starting.catch(async (error: unknown) => {
    await closeProxies()
    throw error
  })
  const end = (how: () => Promise<void>) => async () => {
    await how()
    await closeProxies()
  }
  return {
    service,
    nodes,
    database,
    calm() {
      for (const proxy of proxies) proxy.decide = () => ({ type: 'pass' })
      database.decide = () => 'pass'
    },
    stop: end(service.stop),
    close: end(service.close),
  }
}
