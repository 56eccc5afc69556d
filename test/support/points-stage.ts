/**
 * One database, one node and every process of the service in this process, for tests in which a single separate process
 * dies. Wallets have funds and tokens, there is a collection to mint
 * into, and there are exchanges.
 */
import type { Test } from 'tap'
import type { Kernel } from '../../src/compose/kernel.ts'
import { fundFaucet, setUpChain } from '../../src/sandbox/chain-setup.ts'
import { chainEnv, SANDBOX_CHAIN_IDS } from '../../src/sandbox/networks.ts'
import { freePort } from '../../src/sandbox/ports.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { withAnvil } from './anvil.ts'
import { accepted, type Client, createClient } from './client.ts'
import { type Answered, type LoadWallet, planTransfers, sendTransfers } from './load.ts'
import { createRandom } from './load-random.ts'
import { mineUntilSettled } from './load-settle.ts'
import { createPointsWebhook, type PointsWebhook } from './points-webhook.ts'
import { withDatabase } from './postgres.ts'
import { eventually } from './sandbox-eventually.ts'
import { type LocalService, withLocalService } from './service-local.ts'
import { createTrader, type Trader } from './trader.ts'
import { type ProcessKind, prepareVictim, type Victim } from './victims.ts'
import { localWebhooks } from './webhook-receiver.ts'

const CHAIN_ID = SANDBOX_CHAIN_IDS.ethereum

export type PointsStage = {
  readonly service: LocalService
  readonly url: string
  readonly rpc: (method: string, ...params: unknown[]) => Promise<unknown>
  /** Connects to whichever API process listens at the stage's port. */
  readonly api: Client
  /** Two that send transfers. */
  readonly wallets: readonly LoadWallet[]
  /** One that owns a collection and sends only mints. */
  readonly issuer: LoadWallet
  readonly collectionId: string
  /** One that only swaps and calls a contract. */
  readonly trader: Trader
  /** Every transfer requested so far, with its response. */
  readonly answers: readonly Answered[]
  /** Requests a transfer with a unique amount. Returns the id of its transaction. */
  readonly send: (wallet: LoadWallet, asset: 'native' | 'USDC') => Promise<string>
  /** `null` unless the test asked for one. */
  readonly webhook: PointsWebhook | null
  /** Mines until nothing is in progress, and the webhook has received everything. */
  readonly settle: () => Promise<void>
  /** Stops a process in order. */
  readonly stop: (kind: ProcessKind) => Promise<void>
  /** Starts it again, like production. */
  readonly start: (kind: ProcessKind) => Promise<void>
  /** A separate process of a kind, which exists until the test ends it. */
  readonly prepare: (kind: ProcessKind) => Victim
}

export type PointsStageOptions = {
  /** Puts something between the service and its node: returns the node URLs for the service. */
  readonly nodes?: (url: string) => Promise<readonly string[]>
  readonly env?: Readonly<Record<string, string>>
  readonly onKernel?: (kernel: Kernel) => void
  /** With a webhook sender, and a webhook for the events of all transactions. */
  readonly hasWebhook?: boolean
}

export async function withPointsStage(t: Test, options: PointsStageOptions = {}): Promise<PointsStage> {
  const { env = {}, nodes, onKernel, hasWebhook = false } = options
  const { url: databaseUrl } = await withDatabase(t)
  const { url } = await withAnvil(t, { chainId: CHAIN_ID, mining: 'call' })
  const setup = await setUpChain(url, 'ethereum')
  const port = await freePort()
  const chain = chainEnv({ network: 'ethereum', url, ...setup })
  const rpcUrls = (await nodes?.(url)) ?? [url]
  const service = await withLocalService(t, {
    databaseUrl,
    chainUrl: url,
    chainId: CHAIN_ID,
    env: {
      ...chain,
      ETHEREUM_RPC_URLS: rpcUrls.join(','),
      ETHEREUM_POLL_INTERVAL_MS: '50',
      LEASE_MS: '1000',
      // A process may die between the quote and the swap.
      SWAP_QUOTE_TTL_MS: '600000',
      HOST: '127.0.0.1',
      PORT: String(port),
      ...(hasWebhook ? await localWebhooks() : {}),
      ...env,
    },
    ...(onKernel ? { onKernel } : {}),
  })
  let listening = await service.listenAt(port)
  const api = createClient(listening.baseUrl, service.apiKey)
  const answers: Answered[] = []
  let asked = 0
  const webhook = hasWebhook ? await createPointsWebhook(t, api) : null
  const settle = async () => {
    await mineUntilSettled(() => service.places, url)
    await webhook?.untilReceived()
  }
  const made = (await service.makeWallets(4)) as [LoadWallet, LoadWallet, LoadWallet, LoadWallet]
  const [first, second, issuer, swapper] = made
  for (const { address } of [first, second, swapper]) await fundFaucet(url, setup.contracts, address)
  const collectionId = await deployCollection(api, issuer, settle)
  await eventually(async () => {
    const { rowCount } = await service.pool.query('SELECT FROM balances WHERE wallet_id = ANY($1) AND balance > 0', [
      [first.id, second.id, swapper.id],
    ])
    return rowCount === 6
  })
  return {
    service,
    url,
    rpc: (method, ...params) => callRpc(url, method, params),
    api,
    wallets: [first, second],
    issuer,
    collectionId,
    trader: createTrader({ api, url, contracts: setup.contracts }, swapper),
    answers,
    webhook,
    async send(wallet, asset) {
      const plan = { wallets: [wallet], count: 1, spreadMs: 0, impatient: 0 }
      const tokens = asset === 'USDC' ? 1 : 0
      const transfers = planTransfers(createRandom(0), { ...plan, firstNumber: asked, tokens })
      asked += 1
      const [answer] = await sendTransfers(api, transfers, (answered) => void answers.push(answered))
      if (answer === undefined || answer.transactionId === null)
        throw new Error(`refused: ${answer?.status} ${answer?.code}`)
      return answer.transactionId
    },
    settle,
    stop: (kind) => (kind === 'api' ? listening.close() : service.stopWorker(kind)),
    async start(kind) {
      if (kind === 'api') listening = await service.listenAt(port)
      else await service.startWorker(kind)
    },
    prepare(kind) {
      const victim = prepareVictim(kind, service.env)
      t.after(victim.kill)
      return victim
    },
  }
}

async function deployCollection(api: Client, { id }: LoadWallet, settle: () => Promise<void>): Promise<string> {
  const body = { name: 'Points', symbol: 'PT', wallet_id: id }
  const { collection_id } = accepted(await api.send('/v1/nft/collections/create', body, 'collection'))
  await settle()
  return collection_id
}
