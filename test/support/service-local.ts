/**
 * The service inside the test's process: the API and every worker with their real parts, each with its own connections,
 * on nodes, a database and a queue that the test can remove. No process is restarted here: all recovery is by the parts
 * themselves.
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { Test } from 'tap'
import { createIssueApiKey } from '../../src/access/issue-api-key.ts'
import { toQuantity } from '../../src/chain/hex.ts'
import { composeApi } from '../../src/compose/api.ts'
import { withRender } from '../../src/compose/catalogue.ts'
import { startChainFollower } from '../../src/compose/chain-follower.ts'
import { startDispatcher } from '../../src/compose/dispatcher.ts'
import { startHeartbeat } from '../../src/compose/heartbeat.ts'
import { composeKernel, type Kernel } from '../../src/compose/kernel.ts'
import { loadConfig } from '../../src/compose/load-config.ts'
import type { Work } from '../../src/compose/run-process.ts'
import { startSigner } from '../../src/compose/signer.ts'
import { startSubmitter } from '../../src/compose/submitter.ts'
import type { Config } from '../../src/config.ts'
import type { DatabaseRole } from '../../src/core/database-roles.ts'
import { PROCESSES } from '../../src/core/processes.ts'
import { SCOPES } from '../../src/declarations.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { type Client, createClient } from './client.ts'
import { TAG_KEY } from './config.ts'
import { roleUrls } from './database-login.ts'
import { keptLog, type LogLine } from './kept-log.ts'
import { createWallet, type LoadWallet, type WalletKind } from './load.ts'
import type { ChainPlaces } from './load-settle.ts'

export type LocalService = {
  readonly api: Client
  readonly baseUrl: string
  readonly apiKey: string
  readonly pool: Pool
  /** The parts of a process of the service, for a test that acts as one. */
  readonly kernel: Kernel
  /** Where the audit and the wait for rest read: the chain itself, without proxies. */
  readonly places: ChainPlaces
  /** Wallets with 1,000 ETH each, as observed by the service. */
  readonly makeWallets: (count: number, kind?: WalletKind) => Promise<LoadWallet[]>
  /** The parts of a worker, while it runs. */
  readonly workerOf: (name: WorkerName) => Kernel
  /**
   * @param aheadMs how far the clock of its log is ahead of the others; default is 0
   * @param other settings than those of the others; undefined for none
   */
  readonly startWorker: (name: WorkerName, aheadMs?: number, other?: OtherSettings) => Promise<void>
  /** Lets a worker finish its work and stops it. */
  readonly stopWorker: (name: WorkerName) => Promise<void>
  /** The log lines of the workers. */
  readonly lines: readonly LogLine[]
  /** Another API process, with empty caches. */
  readonly startApi: (aheadMs?: number) => Promise<Client>
  /** The same at a given port, until it is closed. */
  readonly listenAt: (port: number) => Promise<LocalApi>
  /** The database URL of a process with that role. */
  readonly urlAs: (role: DatabaseRole) => string
  /** The settings of its processes, for another one that runs separately. */
  readonly env: Readonly<Record<string, string>>
}

type OtherSettings = Readonly<Record<string, string | undefined>>

export type LocalApi = { readonly baseUrl: string; readonly close: () => Promise<void> }

export type LocalServiceOptions = {
  readonly databaseUrl: string
  /** The node itself. */
  readonly chainUrl: string
  readonly chainId: number
  /** The node URLs for the service; default is the node itself. */
  readonly rpcUrls?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Called with the parts of each process before it starts to work. */
  readonly onKernel?: (kernel: Kernel) => void
}

/** Short intervals, so that a test sees in seconds what takes minutes in production. */
const QUICK = {
  LOG_LEVEL: 'fatal',
  DATABASE_POOL_SIZE: '5',
  RATE_LIMIT_PER_SECOND: '0',
  MAX_IN_FLIGHT_PER_LANE: '1000',
  ETHEREUM_CONFIRMATIONS: '2',
  ETHEREUM_POLL_INTERVAL_MS: '50',
  RPC_TIMEOUT_MS: '1500',
  LEASE_MS: '1500',
  SWEEP_INTERVAL_MS: '500',
  REBROADCAST_AFTER_MS: '2000',
  REPLACE_AFTER_MS: '600000',
  SHUTDOWN_GRACE_MS: '5000',
} as const
const FUNDS_WEI = 10n ** 21n
const TENANT = 'acme'
/** The key of the tests: everything but exports. */
const KEY = {
  tenantId: TENANT,
  environment: 'mainnet',
  scopes: ['*', ...SCOPES.filter((scope) => scope !== 'recovery:export')],
} as const

const WORKERS = {
  dispatcher: startDispatcher,
  signer: startSigner,
  submitter: startSubmitter,
  'chain-follower': startChainFollower,
  async 'webhook-sender'(kernel: Kernel, signal: AbortSignal): Promise<Work> {
    // Loaded when one is started: a program can be built without webhooks.
    const { startWebhookSender } = await import('../../src/webhooks/run-sender.ts')
    return startWebhookSender(await withRender(kernel), signal)
  },
} as const
export type WorkerName = keyof typeof WORKERS

/** Everything runs when it returns, and is removed after the test. */
export async function withLocalService(t: Test, options: LocalServiceOptions): Promise<LocalService> {
  const { databaseUrl, chainUrl, chainId, rpcUrls = [chainUrl], env = {}, onKernel = () => undefined } = options
  const directory = await mkdtemp(join(tmpdir(), 'bursar-local-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const settings = {
    ...QUICK,
    DATABASE_URL: databaseUrl,
    DATA_DIR: directory,
    KEYSTORE_KEY: randomBytes(32).toString('base64'),
    TRANSACTION_TAG_KEY: TAG_KEY,
    ETHEREUM_RPC_URLS: rpcUrls.join(','),
    ETHEREUM_CHAIN_ID: String(chainId),
    ...env,
  }
  const config = loadConfig(settings)
  const { lines, logger } = keptLog()
  const urlAs = await roleUrls(t, databaseUrl)
  const running = new Map<WorkerName, RunningWorker>()
  async function startWorker(name: WorkerName, aheadMs = 0, other: OtherSettings = {}): Promise<void> {
    const own = { ...configOf(config, settings, other), databaseUrl: urlAs(PROCESSES[name].databaseRole) }
    const parts = composeKernel(own, name)
    const kernel = { ...parts, log: aheadBy(aheadMs, parts.log), logger }
    onKernel(kernel)
    const starting = runWorker(kernel, WORKERS[name])
    const started = await starting.catch(async (error: unknown) => {
      await kernel.close()
      throw error
    })
    running.set(name, started)
  }
  async function stopWorker(name: WorkerName): Promise<void> {
    const worker = running.get(name)
    running.delete(name)
    await worker?.stop()
  }
  for (const name of workersOf(config)) {
    await startWorker(name)
    t.after(() => stopWorker(name))
  }
  const kernel = composeKernel(config, 'test')
  t.after(() => kernel.close())
  const { token } = await createIssueApiKey(kernel)(KEY, { actor: 'operator' })

  async function listenAt(port: number, aheadMs = 0): Promise<LocalApi> {
    const parts = composeKernel({ ...config, databaseUrl: urlAs('api') }, 'api')
    onKernel(parts)
    const { app } = await composeApi({ ...parts, log: aheadBy(aheadMs, parts.log) }, '0.0.0-test')
    const baseUrl = await app.listen({ host: '127.0.0.1', port })
    let closing: Promise<void> | null = null
    const close = () => {
      closing ??= app.close().then(parts.close)
      return closing
    }
    t.after(close)
    return { baseUrl, close }
  }

  const { baseUrl } = await listenAt(0)
  const api = createClient(baseUrl, token)
  return {
    api,
    baseUrl,
    apiKey: token,
    pool: kernel.pool,
    kernel,
    places: { database_url: databaseUrl, networks: { ethereum: { rpc_url: chainUrl, chain_id: chainId } } },
    makeWallets: (count, kind) => makeWallets({ api, chainUrl, pool: kernel.pool }, count, kind),
    workerOf(name) {
      const worker = running.get(name)
      if (worker === undefined) throw new Error(`no ${name} runs`)
      return worker.kernel
    },
    startWorker,
    stopWorker,
    lines,
    startApi: async (aheadMs) => createClient((await listenAt(0, aheadMs)).baseUrl, token),
    listenAt,
    urlAs,
    env: settings,
  }
}

/** Without settings of its own a worker shares those of the others, which a test may change. */
function configOf(
  shared: Config,
  settings: Readonly<Record<string, string | undefined>>,
  other: OtherSettings,
): Config {
  return Object.keys(other).length === 0 ? shared : loadConfig({ ...settings, ...other })
}

/** A webhook sender only for tests that give it an identity. */
function workersOf({ webhooks }: Config): readonly WorkerName[] {
  return (Object.keys(WORKERS) as WorkerName[]).filter(
    (name) => name !== 'webhook-sender' || (webhooks?.identity ?? null) !== null,
  )
}

function aheadBy(aheadMs: number, log: Kernel['log']): Kernel['log'] {
  return { ...log, now: () => new Date(Date.parse(log.now()) + aheadMs).toISOString() }
}

export type RunningWorker = { readonly kernel: Kernel; readonly stop: () => Promise<void> }

/** A worker with its heartbeat, like a separate process. */
export async function runWorker(
  kernel: Kernel,
  start: (kernel: Kernel, signal: AbortSignal) => Promise<Work>,
): Promise<RunningWorker> {
  const stopping = new AbortController()
  const work = await start(kernel, stopping.signal)
  const heartbeat = startHeartbeat(kernel, work.problem)
  return {
    kernel,
    async stop() {
      stopping.abort()
      await work.drain()
      await heartbeat.stop()
      await kernel.close()
    },
  }
}

async function makeWallets(
  { api, chainUrl, pool }: Pick<LocalService, 'api' | 'pool'> & { readonly chainUrl: string },
  count: number,
  kind?: WalletKind,
): Promise<LoadWallet[]> {
  const wallets = await Promise.all(
    Array.from({ length: count }, () =>
      createWallet(api, 'ethereum', `wallet-${randomBytes(8).toString('hex')}`, kind),
    ),
  )
  const [owner] = (await callRpc(chainUrl, 'eth_accounts')) as string[]
  await callRpc(chainUrl, 'anvil_setBalance', [owner, toQuantity(10n ** 27n)])
  // Sequentially: anvil gives concurrent ones the same nonce.
  for (const { address } of wallets)
    await callRpc(chainUrl, 'eth_sendTransaction', [{ from: owner, to: address, value: toQuantity(FUNDS_WEI) }])
  for (;;) {
    // Without automatic mining, this block must be requested.
    await callRpc(chainUrl, 'evm_mine')
    const { rowCount } = await pool.query('SELECT FROM balances WHERE wallet_id = ANY($1) AND balance = $2', [
      wallets.map(({ id }) => id),
      FUNDS_WEI.toString(),
    ])
    if (rowCount === count) return wallets
    await sleep(100)
  }
}
