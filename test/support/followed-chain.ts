/** A local chain that is followed for balances as in production, and a sender of transactions on it. */
import type { Test } from 'tap'
import type { BalanceContext } from '../../src/balances/balance-context.ts'
import { observeWallet } from '../../src/balances/first-observation.ts'
import { reconcile } from '../../src/balances/reconcile.ts'
import { retryTokens } from '../../src/balances/retry-tokens.ts'
import { createTokenRotation } from '../../src/balances/token-rotation.ts'
import type { ChainClient } from '../../src/chain/client-set.ts'
import { createPace } from '../../src/chain/follow.ts'
import type { ChainSettings } from '../../src/chain/settings.ts'
import { composeBalances, composeTransactions, walk } from '../../src/compose/chain-follower.ts'
import { composeKernel, type Kernel } from '../../src/compose/kernel.ts'
import type { Count } from '../../src/core/registry.ts'
import { createStallReport } from '../../src/follower/cursor.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { sendMined, type TestChainOptions, withAnvil } from './anvil.ts'
import { apiConfig } from './config.ts'
import { TEST_CHAIN } from './log.ts'
import { withDatabase } from './postgres.ts'

/** The first of anvil's own accounts. */
export const RICH = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

export type FollowedChain = Awaited<ReturnType<typeof withFollowedChain>>

/** @param deploy puts contracts on the chain before it is followed, and returns their addresses */
export async function withFollowedChain(
  t: Test,
  deploy: (url: string) => Promise<Partial<ChainSettings>> = async () => ({}),
  options: TestChainOptions = {},
) {
  const { url } = await withDatabase(t)
  const anvil = await withAnvil(t, { mining: 'each', ...options })
  const rpc = (method: string, params: unknown[] = []) => callRpc(anvil.url, method, params)
  const config = apiConfig(url, { RPC_TIMEOUT_MS: '60000', LEASE_MS: '300000' })
  const [ethereum] = config.chains
  if (ethereum === undefined) throw new Error('one chain is configured')
  const node = { rpcUrls: [anvil.url], maxTipWei: 1_000_000_000_000n, maxFeePerGasWei: 10n ** 12n, minTipWei: 1n }
  const settings = { ...ethereum, ...node, multicall3Address: null, pollIntervalMs: 20, ...(await deploy(anvil.url)) }
  const kernel = composeKernel({ ...config, chains: [settings] }, 'chain-follower')
  t.after(() => kernel.close())
  const balances = composeBalances(kernel)
  const client = kernel.chainOf(TEST_CHAIN)
  const reconciling = { ...balances, rotation: createTokenRotation(kernel) }
  return {
    ...kernel,
    balances,
    ...sendingBy(anvil.url),
    url,
    rpc,
    settings,
    client,
    follow: () => follow(t, kernel, client, balances),
    retryTokens: (chainId: number) => retryTokens(balances, chainId),
    observeWallet: (walletId: string) => observeWallet(balances, walletId),
    reconcile: (chainId: number) => reconcile(reconciling, chainId),
  }
}

/** The blocks of the chain, without the periodic tasks of a leader: a test calls those itself. */
function follow(
  t: Test,
  kernel: Kernel,
  client: ChainClient,
  balances: BalanceContext,
): { readonly stop: () => Promise<void> } {
  const stopping = new AbortController()
  const strict = { ...kernel, metrics: { ...kernel.metrics, count: failOnUnstorable(kernel.metrics.count) } }
  const running = (async () => {
    const lease = await kernel.leases.acquire('follow')
    if (lease === null) throw new Error('nobody else follows')
    const stalls = createStallReport(
      { pool: kernel.pool, onStall: () => undefined, now: () => performance.now() },
      TEST_CHAIN,
    )
    const observing = { balances, transactions: composeTransactions(kernel), inTurn: alone }
    await walk(strict, { ...client, pace: createPace(), stalls }, observing, lease, stopping.signal)
    await lease.release({ force: true })
  })()
  const stop = async () => {
    stopping.abort()
    await running
  }
  t.after(stop)
  return { stop }
}

const alone = <Result>(task: () => Promise<Result>) => task()

function failOnUnstorable(count: Count): Count {
  return (name, ...counted) => {
    if (name === 'bursar_set_aside_total') throw new Error('the database cannot store a decision of the follower')
    count(name, ...counted)
  }
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
