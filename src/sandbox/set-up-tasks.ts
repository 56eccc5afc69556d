/** The steps of a start that need modules which the running sandbox does not: all of them may be repeated. */
import pg from 'pg'
import type { DatabaseLogin } from '../compose/database-roles/logins.ts'
import { composeKernel } from '../compose/kernel.ts'
import { loadConfig } from '../compose/load-config.ts'
import { migrateDatabase } from '../compose/migrate-database.ts'
import type { Network } from '../core/networks.ts'
import { MIGRATIONS_DIRECTORY } from '../event-log/migrations.ts'
import type { ChainContracts } from './addition.ts'
import { ensureApiKey } from './api-key.ts'
import { type ChainSetup, fundFaucet, setUpChain } from './chain-setup.ts'
import { ensureFaucetWallet } from './faucet/faucet-wallet.ts'

/** Accounts of the first requests: a key of the API, and the addresses of the faucets' wallets. */
export type FirstAccounts = { readonly apiKey: string; readonly faucets: ReadonlyMap<Network, string> }

export const SET_UP_TASKS = {
  /** @throws errors of `migrateDatabase` */
  async migrate(databaseUrl: string, logins: readonly DatabaseLogin[]): Promise<void> {
    const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 })
    const settings = { databaseUrl, directory: MIGRATIONS_DIRECTORY, queues: true, logins }
    await migrateDatabase(pool, settings).finally(() => pool.end())
  },

  /** @throws Error when the node refuses */
  setUpChain: (url: string, network: Network): Promise<ChainSetup> => setUpChain(url, network),

  /** @throws Error when the node refuses */
  fundFaucet: (url: string, contracts: ChainContracts, address: string): Promise<void> =>
    fundFaucet(url, contracts, address),

  /**
   * @param env the settings of a process that requests wallets like the API and issues keys like an operator
   * @throws errors of the database
   */
  async openAccounts(
    env: NodeJS.ProcessEnv,
    stateFile: string,
    chains: readonly { readonly network: Network; readonly chainId: number }[],
  ): Promise<FirstAccounts> {
    const kernel = composeKernel(loadConfig({ ...env, LOG_LEVEL: 'error' }), 'sandbox')
    try {
      const [apiKey, ...faucets] = await Promise.all([
        ensureApiKey(kernel, stateFile),
        ...chains.map(async (chain) => [chain.network, await ensureFaucetWallet(kernel, chain)] as const),
      ])
      return { apiKey, faucets: new Map(faucets) }
    } finally {
      await kernel.close()
    }
  },
}

export type SetUpTasks = typeof SET_UP_TASKS
