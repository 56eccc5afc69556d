/** One sandbox for a whole file of end-to-end tests, with tenants, funds and access to the records. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import type { Test } from 'tap'
import { toChecksumAddress } from '../../src/chain/address.ts'
import type { Network } from '../../src/core/networks.ts'
import { SCOPES } from '../../src/declarations.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { accepted, type Client, createClient } from './client.ts'
import { type SandboxState, type Service, type ServiceOptions, startService } from './service.ts'
import { HANGS_AFTER_MS } from './within.ts'

/** All scopes but one. */
const WITHOUT_EXPORT = ['*', ...SCOPES.filter((scope) => scope !== 'recovery:export')].join(',')
const KEYS_COMMAND = fileURLToPath(new URL('../../dist/bin/keys.js', import.meta.url))
const NODE_SCRIPT = fileURLToPath(new URL('../nodes/sandbox-on-node.mjs', import.meta.url))
/** On a slow machine a resource may take longer than a request waits by default. */
export const AS_LONG_AS_MAY_BE = { prefer: 'wait=60' }

export type Wallet = { readonly walletId: string; readonly address: string; readonly path: string }

export type Sandbox = {
  readonly service: Service
  readonly state: SandboxState
  /** The sandbox's tenant, with every scope. */
  readonly client: Client
  readonly clientOf: (apiKey?: string) => Client
  /** Runs the operator command; returns its JSON output. */
  readonly keys: (...args: readonly string[]) => Promise<Record<string, string>>
  /**
   * A client of a new tenant. @param scopes in the operator command's format; default is every scope except
   * `recovery:export`
   */
  readonly tenant: (name: string, scopes?: string) => Promise<Client>
  /** A new hd wallet; funded by the faucet when `amount` is given. */
  readonly wallet: (client: Client, network: Network, funds?: Readonly<Record<string, string>>) => Promise<Wallet>
  /** The contract of a token that every tenant has. */
  readonly token: (client: Client, network: Network, symbol: string) => Promise<string>
  /**
   * No chain makes a block until the returned function is called or the test ends: the parent, which mines, is stopped.
   */
  readonly holdBlocks: (t: Test) => () => void
  readonly rpc: (network: Network, method: string, params?: readonly unknown[]) => Promise<unknown>
  readonly query: (text: string, values?: readonly unknown[]) => Promise<Record<string, unknown>[]>
}

/** The parts of a transaction that tests use. */
export type Transaction = {
  readonly transaction_id: string
  readonly status: string
  readonly state: string
  readonly hash: string | null
  readonly hashes: readonly string[]
  readonly block_number: number | null
  readonly confirmations: number
  readonly updated_at: string
  readonly nonce: number | null
  readonly history: readonly { readonly state: string; readonly at: string }[]
  readonly failure: { readonly code: string; readonly message: string } | null
}

/** LOCAL_NODE says which node runs the local chains instead of anvil: see test/nodes/sandbox-on-node.mjs. */
function onOtherNode(env: Readonly<Record<string, string>>): ServiceOptions {
  return { env: { ...env, LOCAL_NODE: process.env.LOCAL_NODE ?? '' }, script: NODE_SCRIPT }
}

export async function startSandbox(t: Test, settings: Readonly<Record<string, string>> = {}): Promise<Sandbox> {
  // Simultaneous requests count towards a quota even if one of them makes all. No fee is bumped: tests hold blocks back, on a slow machine for longer than a transaction may be stuck.
  const env = { MPC_PARTIES: '3', MPC_POOL_SIZE: '0', REPLACE_AFTER_MS: '600000', QUOTA_WEBHOOKS: '0', ...settings }
  const service = await startService(process.env.LOCAL_NODE === undefined ? { env } : onOtherNode(env))
  const state = service.state()
  const pool = new pg.Pool({ connectionString: state.database_url, max: 2 })
  t.teardown(async () => {
    await pool.end()
    await service.close()
  })
  const clientOf = (apiKey?: string) => createClient(state.base_url, apiKey, HANGS_AFTER_MS)

  async function keys(...args: readonly string[]): Promise<Record<string, string>> {
    const env = { PATH: process.env.PATH, DATABASE_URL: state.database_url }
    const { stdout } = await promisify(execFile)(process.execPath, [KEYS_COMMAND, ...args, '--json'], { env })
    return JSON.parse(stdout) as Record<string, string>
  }

  async function wallet(
    client: Client,
    network: Network,
    funds: Readonly<Record<string, string>> = {},
  ): Promise<Wallet> {
    const made = await client.post('/v1/wallets/create', { type: 'hd', network }, AS_LONG_AS_MAY_BE)
    const { wallet_id: walletId, address } = await client.settle(made)
    for (const [asset, amount] of Object.entries(funds))
      accepted(await client.post('/v1/sandbox/faucet', { address, network, asset, amount }))
    const path = `/v1/wallets/${walletId}`
    for (const [asset, amount] of Object.entries(funds))
      await client.until(`${path}/balance?asset=${asset}`, ({ balance }) => balance === amount)
    return { walletId, address, path }
  }

  return {
    service,
    state,
    client: clientOf(state.api_key),
    clientOf,
    keys,
    async tenant(name, scopes = WITHOUT_EXPORT) {
      const issued = await keys('issue', '--tenant', name, '--environment', 'mainnet', '--scopes', scopes)
      return clientOf(issued.api_key)
    },
    wallet,
    async token(client, network, symbol) {
      const { body } = await client.get(`/v1/assets?network=${network}`)
      const { assets } = body.data as { assets: { symbol: string; contract_address: string | null }[] }
      const found = assets.find((asset) => asset.symbol === symbol)?.contract_address
      if (found == null) throw new Error(`${network} has no ${symbol}`)
      return found
    },
    holdBlocks(t) {
      const pid = Number.parseInt(readFileSync(join(service.directory, 'data', 'sandbox.pid'), 'utf8'), 10)
      const release = () => void process.kill(pid, 'SIGCONT')
      t.teardown(release)
      process.kill(pid, 'SIGSTOP')
      return release
    },
    rpc: (network, method, params = []) => callRpc(state.networks[network].rpc_url, method, params),
    query: async (text, values = []) => (await pool.query(text, [...values])).rows as Record<string, unknown>[],
  }
}

/** An unused address: its balance comes from the test. */
export function newAddress(): string {
  return toChecksumAddress(`0x${randomBytes(20).toString('hex')}`)
}

/** @param body of a transfer */
export async function sendTransfer(client: Client, { path }: Wallet, body: object): Promise<string> {
  return `${path}/transactions/${accepted(await client.post(`${path}/transfer`, body)).transaction_id}`
}
