/** Quotes on a real chain with real exchanges, and swaps that execute them. */

import { Interface } from 'ethers/abi'
import type { Test } from 'tap'
import { createRpcClient, type RpcClient } from '../../src/chain/rpc-client.ts'
import type { Asset } from '../../src/core/assets.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { encodeRoute } from '../../src/swaps/encode-route.ts'
import type { Route, SwapTerms } from '../../src/swaps/events.ts'
import { type Feeds, feedPrice } from '../../src/swaps/feeds.ts'
import { type FoundRoutes, findRoutes } from '../../src/swaps/find-route.ts'
import type { Market, Venue } from '../../src/swaps/market.ts'
import { createPoolBook, type PoolBook } from '../../src/swaps/pools.ts'
import { mostIn, spenderOf } from '../../src/swaps/route.ts'
import { type TriedRoute, tryRoutes } from '../../src/swaps/try-routes.ts'
import { type ExchangeChain, withExchanges } from './exchanges.ts'
import { OSAKA } from './gas.ts'

/** An unlocked account of every anvil. */
export const ALICE = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
export const COIN = 10n ** 18n
export const DOLLAR = 10n ** 6n

export const TOKEN = new Interface([
  'function approve(address spender, uint256 amount)',
  'function transfer(address to, uint256 amount)',
  'function balanceOf(address owner) view returns (uint256)',
  'function allowance(address owner, address spender) view returns (uint256)',
  'function deposit() payable',
])

const TERMS: SwapTerms = { amountType: 'exact_input', slippageBps: 50, maxPriceImpactBps: 300, deadlineSeconds: 600 }
const FOREVER = 2 ** 40

export type Assets = Readonly<Record<'eth' | 'weth' | 'usdc' | 'usdt', Asset>>

export type Wanted = Partial<SwapTerms> & {
  readonly from: Asset
  readonly to: Asset
  readonly amount: bigint
  readonly gasPrice?: bigint
  readonly feeds?: Feeds
}

export type SwapStage = ExchangeChain & {
  readonly assets: Assets
  readonly market: Market
  readonly venues: Readonly<Record<PoolName, Venue>>
  /** The routes, over these exchanges. */
  readonly find: (wanted: Wanted, market?: Partial<Market>) => Promise<FoundRoutes>
  /** The route that works for Alice, after a simulation. */
  readonly quote: (wanted: Wanted, market?: Partial<Market>) => Promise<TriedRoute>
  /** Alice swaps. @returns what she paid and received, without gas; `null` when it reverted */
  readonly swap: (route: Route, assets: Pick<Wanted, 'from' | 'to'>) => Promise<Moved | null>
  /** A call by Alice in a block of its own. @returns its receipt */
  readonly call: (to: string, data: string, value?: bigint) => Promise<Receipt>
  readonly balanceOf: (asset: Asset) => Promise<bigint>
}

type PoolName = 'v2' | 'v3'
export type Moved = { readonly paid: bigint; readonly received: bigint; readonly gasUsed: bigint }
export type Receipt = {
  readonly status: string
  readonly gasUsed: string
  readonly effectiveGasPrice: string
  readonly contractAddress: string | null
}

/** @param urlOf the node that quotes ask, given the real one */
export async function withSwaps(t: Test, urlOf: (url: string) => Promise<string> = async (url) => url) {
  const chain = await withExchanges(t)
  const client = createRpcClient({
    urls: [await urlOf(chain.url)],
    chainId: 1_000_001,
    timeoutMs: 60_000,
    now: () => performance.now(),
    log: { warn: () => undefined, info: () => undefined, error: () => undefined },
  })
  t.teardown(client.close)
  return swapStage(chain, client)
}

function swapStage(chain: ExchangeChain, client: RpcClient): SwapStage {
  const { url, contracts, exchanges } = chain
  const venues = {
    v3: {
      name: 'uniswap-v3',
      kind: 'v3',
      router: exchanges.swapRouter,
      quoter: exchanges.quoter,
      factory: exchanges.v3Factory,
      factoryV2: exchanges.v2Factory,
      tiers: [500, 3_000, 10_000],
    },
    v2: {
      name: 'uniswap-v2',
      kind: 'v2',
      router: exchanges.v2Router,
      quoter: exchanges.v2Router,
      factory: exchanges.v2Factory,
      factoryV2: null,
      tiers: [],
    },
  } as const
  const asset = (symbol: string, decimals: number, contract: string | null): Asset => ({
    assetId: symbol,
    symbol,
    decimals,
    contract,
  })
  const assets = {
    eth: asset('ETH', 18, null),
    weth: asset('WETH', 18, contracts.wrappedNative),
    usdc: asset('USDC', 6, contracts.usdc),
    usdt: asset('USDT', 6, contracts.usdt),
  }
  const market: Market = {
    chainId: 1_000_001,
    venues: [venues.v3, venues.v2],
    wrapped: contracts.wrappedNative,
    hops: [contracts.usdc, contracts.usdt],
    rules: OSAKA,
  }
  const pools = createPoolBook(() => performance.now())
  const find = (wanted: Wanted, own: Partial<Market> = {}) =>
    findRoutes(
      { client, multicall3: contracts.multicall3, market: { ...market, ...own }, pools: bookOf(own, pools) },
      { gasPrice: 10n ** 9n, feeds: feedsOf(contracts), ...wanted, wallet: ALICE, terms: { ...TERMS, ...wanted } },
    )
  const call = (to: string, data: string, value = 0n) => mined(url, { from: ALICE, to, data, value: hex(value) })
  const balanceOf = ({ contract }: Asset) => readBalance(url, contract)
  return {
    ...chain,
    assets,
    market,
    venues,
    find,
    call,
    balanceOf,
    async quote(wanted, own) {
      const { from, to } = wanted
      return tryRoutes(client, { wallet: ALICE, from, to, terms: { ...TERMS, ...wanted } }, await find(wanted, own))
    },
    async swap(route, { from, to }) {
      const spender = spenderOf(route)
      if (spender !== null && from.contract !== null) {
        // USDT refuses to change an allowance that is not 0.
        await call(from.contract, TOKEN.encodeFunctionData('approve', [spender, 0n]))
        await call(from.contract, TOKEN.encodeFunctionData('approve', [spender, mostIn(route)]))
      }
      const before = [await balanceOf(from), await balanceOf(to)]
      const { to: target, data, value } = encodeRoute(route, { wallet: ALICE, deadline: FOREVER })
      const receipt = await call(target, data, value)
      if (receipt.status !== '0x1') return null
      const gas = BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice)
      const change = async (asset: Asset, old = 0n) =>
        (await balanceOf(asset)) - old + (asset.contract === null ? gas : 0n)
      const [paid, received] = [await change(from, before[0]), await change(to, before[1])]
      return { paid: -paid, received, gasUsed: BigInt(receipt.gasUsed) }
    },
  }
}

/** As on the local chain. */
function feedsOf({ wrappedNative, usdc, usdt }: SwapStage['contracts']): Feeds {
  const prices = new Map([
    [wrappedNative, feedPrice('3000', 18)],
    [usdc, feedPrice('1', 6)],
    [usdt, feedPrice('1', 6)],
  ])
  return (token) => prices.get(token) ?? null
}

/** A market of other exchanges is another chain to the book of pools. */
function bookOf(own: Partial<Market>, pools: PoolBook): PoolBook {
  return own.venues === undefined ? pools : createPoolBook(() => performance.now())
}

/** Sends a transaction of an unlocked account, in a block of its own. */
export async function mined(url: string, transaction: Readonly<Record<string, string>>): Promise<Receipt> {
  const hash = await callRpc(url, 'eth_sendTransaction', [{ gas: hex(8_000_000n), ...transaction }])
  await callRpc(url, 'evm_mine')
  return (await callRpc(url, 'eth_getTransactionReceipt', [hash])) as Receipt
}

async function readBalance(url: string, contract: string | null): Promise<bigint> {
  if (contract === null) return BigInt((await callRpc(url, 'eth_getBalance', [ALICE, 'latest'])) as string)
  const data = TOKEN.encodeFunctionData('balanceOf', [ALICE])
  return BigInt((await callRpc(url, 'eth_call', [{ to: contract, data }, 'latest'])) as string)
}

function hex(value: bigint): string {
  return `0x${value.toString(16)}`
}
