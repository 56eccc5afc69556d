/** Starts the sandbox step by step, keeps it running, and stops it in order. */

import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { printText } from '../cli/printed.ts'
import type { Config } from '../config.ts'
import { isLoopback } from '../core/exposure.ts'
import { NETWORKS, type Network } from '../core/networks.ts'
import type { Addition } from './addition.ts'
import { ADDITIONS } from './additions.ts'
import { type ChainPlan, type ChainService, createChainService } from './chain-service.ts'
import { SandboxRefused } from './data-dir.ts'
import { type DatabaseUsers, planDatabaseUsers } from './database-users.ts'
import { awaitFaucetFunds } from './first-funds.ts'
import { chainEnv, SANDBOX_CHAIN_IDS, type SandboxChain } from './networks.ts'
import { isFree, keptPort } from './ports.ts'
import { startPostgres } from './postgres.ts'
import { type ProcessPlan, planProcesses } from './process-plans.ts'
import { startChild, stopChild } from './processes.ts'
import { createSetUp, type SetUp } from './set-up-process.ts'
import { step } from './steps.ts'
import { createSupervisor, type Service, type Supervisor, untilReady } from './supervisor.ts'
import { printWelcome } from './welcome.ts'

const STOP_GRACE_MS = 20_000

/** Stop order, highest first: a waiting request is still answered by the workers, and all of them need the rest. */
const RANKS = { database: 0, chain: 1, worker: 2, api: 3 } as const

export type Sandbox = { readonly stop: () => Promise<void> }

/**
 * @param settings.stateFile written when the sandbox is ready and whenever a process is restarted
 * @param settings.amend changes the settings of the processes, for example to put a proxy in front of their database
 *   and nodes
 * @param settings.chainService runs each local chain; default is anvil
 */
export async function runSandbox(settings: {
  readonly config: Config
  readonly env: NodeJS.ProcessEnv
  readonly stateFile: string
  readonly amend?: (env: NodeJS.ProcessEnv) => NodeJS.ProcessEnv
  readonly chainService?: MakeChainService
}): Promise<Sandbox> {
  const { env, stateFile, amend = (own) => own, chainService = createChainService } = settings
  const { dataDir } = settings.config
  printText(process.stdout, `Bursar sandbox in ${dataDir}\n`)
  await mkdir(join(dataDir, 'logs'), { recursive: true, mode: 0o700 })
  const config = await withPort(settings.config)
  const { api } = config
  const baseUrl = `http://${api.host}:${api.port}`
  await rm(stateFile, { force: true })
  let publish: () => Promise<void> = async () => undefined
  const supervisor = createSupervisor({
    onStarted: () => void publish(),
    onDied: (name, { code, signal }) =>
      printText(process.stdout, `  ! ${name} exited (${signal ?? `code ${code}`}) and is restarted\n`),
    onStartFailed: (name, error) =>
      printText(
        process.stdout,
        `  ! ${name} did not start: ${error instanceof Error ? error.message : String(error)}\n`,
      ),
  })
  const setUp = createSetUp()
  try {
    const { plans, ownSettings, tagKey } = await planProcesses(config, env)
    const [{ databaseUrl, users }, chains] = await Promise.all([
      step('PostgreSQL', () => startDatabase(supervisor, setUp, dataDir, plans)),
      step('local chains: ethereum, polygon, binance', () => startChains({ supervisor, setUp, config, chainService })),
    ])
    const usable = ADDITIONS.filter((addition) => isUsable(addition, config, chains))
    const chainSettings: Record<string, string> = Object.assign({}, ...chains.map(({ chain }) => chainEnv(chain)))
    const envWith = (url: string) =>
      amend({
        ...ownSettings,
        ...env,
        PORT: String(api.port),
        DATA_DIR: dataDir,
        DATABASE_URL: url,
        DATABASE_ROLES: 'required',
        SANDBOX: 'true',
        ...chainSettings,
      })
    const settings = { ...ownSettings, ...tagKey, ...chainSettings }
    await step('API and workers', async () => {
      await Promise.all(
        plans.map((plan) =>
          supervisor.start(nodeService(plan, dataDir, { ...envWith(users.urlOf(plan.name)), ...plan.env })),
        ),
      )
      await untilReady(baseUrl)
    })
    const ownEnv = envWith(users.ownUrl)
    const apiKey = await furnish(config, ownEnv.DATABASE_URL ?? '', chains, (networks) =>
      setUp.openAccounts(ownEnv, stateFile, networks),
    )
    publish = () =>
      writeState(stateFile, {
        config,
        apiKey,
        databaseUrl,
        settings,
        chains: chains.map(({ chain }) => chain),
        supervisor,
      })
    await publish()
    const exposedHost = isLoopback(api.host) ? null : api.host
    printWelcome({ baseUrl, apiKey, dataDir, usable, exposedHost })
    return {
      async stop() {
        publish = async () => undefined
        await rm(stateFile, { force: true })
        await supervisor.stop()
        setUp.close()
      },
    }
  } catch (error) {
    await supervisor.stop()
    setUp.close()
    throw error
  }
}

/** Port 0 selects a free one: the same at each start while it is free, so that clients find the API again. */
async function withPort(config: Config): Promise<Config> {
  const { port } = config.api
  if (port === 0) return { ...config, api: { ...config.api, port: await keptPort(join(config.dataDir, 'api.port')) } }
  if (await isFree(port)) return config
  throw new SandboxRefused(`Port ${port} is in use: stop the program that listens on it, or set PORT to another port.`)
}

type StartedDatabase = {
  /** With the owner of the tables: for migrations, and for manual access. */
  readonly databaseUrl: string
  readonly users: DatabaseUsers
}

async function startDatabase(
  supervisor: Supervisor,
  setUp: SetUp,
  dataDir: string,
  plans: readonly ProcessPlan[],
): Promise<StartedDatabase> {
  const directory = join(dataDir, 'postgres')
  let databaseUrl = ''
  await supervisor.start({
    name: 'postgres',
    rank: RANKS.database,
    start: async () => {
      const postgres = await startPostgres({ directory })
      databaseUrl = postgres.url
      return postgres
    },
  })
  const users = await planDatabaseUsers(
    directory,
    databaseUrl,
    plans.map(({ name }) => name),
  )
  await setUp.migrate(databaseUrl, users.logins)
  return { databaseUrl, users }
}

type StartedChain = { readonly chain: SandboxChain; readonly fundFaucet: (address: string) => Promise<void> }

type MakeChainService = (plan: ChainPlan) => Promise<ChainService>

function startChains({
  supervisor,
  setUp,
  config: { dataDir, sandboxHardfork: hardfork },
  chainService,
}: {
  readonly supervisor: Supervisor
  readonly setUp: SetUp
  readonly config: Config
  readonly chainService: MakeChainService
}): Promise<StartedChain[]> {
  return Promise.all(
    NETWORKS.map(async (network: Network) => {
      const service = await chainService({
        network,
        chainId: SANDBOX_CHAIN_IDS[network],
        directory: join(dataDir, 'chains', network),
        hardfork,
        setUp,
      })
      await supervisor.start({ name: `anvil-${network}`, rank: RANKS.chain, start: service.start })
      return { chain: { network, url: service.url(), ...service.setup() }, fundFaucet: service.fundFaucet }
    }),
  )
}

/** Says what the chains lack for it. */
function isUsable({ isOn, lacks }: Addition, config: Config, chains: readonly StartedChain[]): boolean {
  if (isOn?.(config) === false) return false
  const lacking = chains.map(({ chain }) => lacks?.(chain.added) ?? null).find((text) => text !== null)
  if (lacking !== undefined) printText(process.stdout, `  ! ${lacking}\n`)
  return lacking === undefined
}

function nodeService(
  { name, kind, program = kind, niceness, options }: ProcessPlan,
  dataDir: string,
  env: NodeJS.ProcessEnv,
): Service {
  return {
    name,
    rank: name === 'api' ? RANKS.api : RANKS.worker,
    async start() {
      const path = fileURLToPath(new URL(`../../bin/${program}.js`, import.meta.url))
      if (!existsSync(path)) throw new Error(`${path} is not built: run npm run build`)
      const child = await startChild({
        ...(niceness === undefined ? {} : { niceness }),
        command: process.execPath,
        args: [...options, path],
        env,
        logFile: join(dataDir, 'logs', `${name}.log`),
        onParentDeath: 'TERM',
        channel: true,
      })
      return { pid: child.pid, exited: child.exited, stop: () => stopChild(child, 'SIGTERM', STOP_GRACE_MS) }
    },
  }
}

/** Opens the first accounts, and waits until a user can use them. Returns the API key. */
async function furnish(
  config: Config,
  databaseUrl: string,
  chains: readonly StartedChain[],
  openAccounts: (networks: readonly { network: Network; chainId: number }[]) => ReturnType<SetUp['openAccounts']>,
): Promise<string> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 })
  pool.on('error', () => undefined) // The next query connects again.
  try {
    const key = await step('faucet and first API key', async () => {
      const { apiKey, faucets } = await openAccounts(
        chains.map(({ chain: { network } }) => ({ network, chainId: SANDBOX_CHAIN_IDS[network] })),
      )
      await Promise.all(chains.map(({ chain, fundFaucet }) => fundFaucet(faucets.get(chain.network) ?? '')))
      await awaitFaucetFunds(pool, chains.length)
      return apiKey
    })
    for (const { ready } of ADDITIONS) await ready?.(pool, config)
    return key
  } finally {
    await pool.end()
  }
}

async function writeState(
  stateFile: string,
  state: {
    readonly config: Config
    readonly apiKey: string
    readonly databaseUrl: string
    /** The settings with which a command in another shell uses the same database and chains. */
    readonly settings: Readonly<Record<string, string>>
    readonly chains: readonly SandboxChain[]
    readonly supervisor: Supervisor
  },
): Promise<void> {
  const { config, apiKey, databaseUrl, settings, chains, supervisor } = state
  const content = {
    base_url: `http://${config.api.host}:${config.api.port}`,
    api_key: apiKey,
    networks: Object.fromEntries(
      chains.map(({ network, url }) => [network, { rpc_url: url, chain_id: SANDBOX_CHAIN_IDS[network] }]),
    ),
    database_url: databaseUrl,
    settings,
    processes: supervisor.processes(),
  }
  // Written atomically: a reader that waits for the file must never read half of it.
  const making = `${stateFile}.${randomUUID()}`
  await writeFile(making, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
  await rename(making, stateFile)
}
