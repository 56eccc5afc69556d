/** A local chain that is followed for balances as in production, and a sender of transactions on it. */
import pino from 'pino'
import type { Test } from 'tap'
import { createBalanceChains } from '../../src/balances/chain.ts'
import { observeWallet } from '../../src/balances/first-observation.ts'
import { createHolderReads } from '../../src/balances/holder-reads.ts'
import { loadBalances } from '../../src/balances/load-balances.ts'
import { type ReadForRecord, readForRecord } from '../../src/balances/read-holdings.ts'
import { reconcile } from '../../src/balances/reconcile.ts'
import { retryTokens } from '../../src/balances/retry-tokens.ts'
import { createTokenRotation } from '../../src/balances/token-rotation.ts'
import { createUnreadTokens } from '../../src/balances/unread-tokens.ts'
import { createChainClients } from '../../src/chain/client-set.ts'
import { createPace } from '../../src/chain/follow.ts'
import type { ChainSettings } from '../../src/chain/settings.ts'
import { composeObservers } from '../../src/compose/block-observers.ts'
import { EFFECT_RULES } from '../../src/compose/capabilities.ts'
import { pause } from '../../src/event-log/lead.ts'
import { createLeases } from '../../src/event-log/leases.ts'
import { createStallReport, createWalkedBlocks } from '../../src/follower/cursor.ts'
import { followChain } from '../../src/follower/follow-chain.ts'
import { createMetrics } from '../../src/http/metrics.ts'
import { recoveredAddress } from '../../src/keys/recovered-address.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { createBlockReads } from '../../src/transactions/block-reads.ts'
import { sendMined, type TestChainOptions, withAnvil } from './anvil.ts'
import { TEST_CHAIN, type TestLog, withLog } from './log.ts'

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** The first of anvil's own accounts. */
export const RICH = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

export type FollowedChain = Awaited<ReturnType<typeof withFollowedChain>>

/** @param deploy puts contracts on the chain before it is followed, and returns their addresses */
export async function withFollowedChain(
  t: Test,
  deploy: (url: string) => Promise<Partial<ChainSettings>> = async () => ({}),
  { statementTimeoutMs, ...options }: TestChainOptions & { readonly statementTimeoutMs?: number } = {},
) {
  const database = await withLog(t, statementTimeoutMs === undefined ? {} : { statement_timeout: statementTimeoutMs })
  const anvil = await withAnvil(t, { mining: 'each', ...options })
  const rpc = (method: string, params: unknown[] = []) => callRpc(anvil.url, method, params)
  const settings: ChainSettings = {
    network: 'ethereum',
    environment: 'mainnet',
    chainId: TEST_CHAIN,
    rpcUrls: [anvil.url],
    confirmations: 2,
    minTipWei: 1n,
    maxTipWei: 1_000_000_000_000n,
    maxFeePerGasWei: 10n ** 12n,
    pollIntervalMs: 20,
    multicall3Address: null,
    priceFeeds: {},
    tokens: [],
    ...(await deploy(anvil.url)),
  }
  const clients = createChainClients({ chains: [settings], timeoutMs: 60_000, now: Date.now, log: SILENT })
  t.after(() => clients.close())
  const [client] = clients.all
  if (client === undefined) throw new Error('one chain is configured')
  const parts = partsOf(database, createBalanceChains(clients.all))
  return {
    ...database,
    ...parts,
    ...sendingBy(anvil.url),
    rpc,
    settings,
    client,
    follow: () => follow(t, database, client, parts),
  }
}

function partsOf({ pool, log }: TestLog, chainOf: ReturnType<typeof createBalanceChains>) {
  const unread = createUnreadTokens(pool)
  const ports = {
    pool,
    reads: createHolderReads(pool),
    log,
    chainOf,
    load: (walletIds: readonly string[]) => loadBalances({ pool, log }, walletIds),
    unread,
    readForRecord: ((...read) => readForRecord({ unread }, ...read)) satisfies ReadForRecord,
  }
  const reconciling = { ...ports, rotation: createTokenRotation(ports) }
  return {
    ...ports,
    ports,
    retryTokens: (chainId: number) => retryTokens(ports, chainId),
    observeWallet: (walletId: string) => observeWallet(ports, walletId),
    reconcile: (chainId: number) => reconcile(reconciling, chainId),
  }
}

function follow(
  t: Test,
  { pool, log }: TestLog,
  { client, settings }: ReturnType<typeof createChainClients>['all'][number],
  { ports: balances }: ReturnType<typeof partsOf>,
): { readonly stop: () => Promise<void> } {
  const stopping = new AbortController()
  const running = (async () => {
    const lease = await createLeases({ pool, holder: 'test', leaseMs: 600_000 }).acquire('follow')
    if (lease === null) throw new Error('nobody else follows')
    const kernel = { pool, log, clock: Date.now, logger: pino({ level: 'silent' }), metrics: createMetrics('test') }
    const transactions = { reads: createBlockReads(pool), log, effects: EFFECT_RULES, revertReason: async () => '' }
    const observing = composeObservers(kernel, { settings }, balances, transactions)
    const walked = createWalkedBlocks(pool)
    const alone = { inTurn: <Result>(task: () => Promise<Result>) => task() }
    const failed = (streamId: string, error: unknown) => {
      throw new Error(`${streamId} was set aside`, { cause: error })
    }
    const ports = {
      ...alone,
      ...observing,
      recover: recoveredAddress,
      walked,
      log,
      client,
      pace: createPace(),
      settings,
      pauseBetween: (signal: AbortSignal) => pause(settings.pollIntervalMs, signal),
      onUnstorable: failed,
      stalls: createStallReport({ pool, onStall: () => undefined, now: () => performance.now() }, settings.chainId),
    }
    await followChain(ports, lease, stopping.signal)
    await lease.release({ force: true })
  })()
  const stop = async () => {
    stopping.abort()
    await running
  }
  t.after(stop)
  return { stop }
}

function sendingBy(url: string) {
  const send = (transaction: Record<string, string>) => sendMined(url, { from: RICH, ...transaction })
  return {
    send,
    /** A contract sends during its creation: no transaction names the recipient. */
    sendInternally: (to: string, wei: bigint) => send({ data: `0x73${to.slice(2)}ff`, value: `0x${wei.toString(16)}` }),
    transfer: (to: string, wei: bigint) => send({ to, value: `0x${wei.toString(16)}` }),
    head: async () => Number(await callRpc(url, 'eth_blockNumber')),
  }
}
