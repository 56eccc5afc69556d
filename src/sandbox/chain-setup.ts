/**
 * Sets up a local chain: tokens, price feeds, Multicall3, what the sandbox adds for capabilities, and funds for the
 * faucet. Every address is derived from the code alone, so a recreated chain has the same ones. Idempotent.
 */
import { createRequire } from 'node:module'
import { Interface } from 'ethers/abi'
import { toQuantity } from '../chain/hex.ts'
import { mapValues } from '../core/map-values.ts'
import { NATIVE_SYMBOL, type Network } from '../core/networks.ts'
import type { Addresses, ChainContracts, ChainToken, ChainTokens } from './addition.ts'
import { ADDITIONS } from './additions.ts'
import { artefact, type Deployment, deployMissing, mine, OWNER, planDeployment, send } from './deploy.ts'
import { callRpc } from './rpc.ts'

export type ChainSetup = {
  readonly contracts: ChainContracts
  /** What the additions have there. */
  readonly added: Addresses
}

const FEED_DECIMALS = 8
/** Round example prices, with eight decimals. */
const PRICES: Readonly<Record<Network, bigint>> = {
  ethereum: 3_000_00000000n,
  polygon: 50000000n,
  binance: 600_00000000n,
}
const DOLLAR = 1_00000000n

/** The faucet is topped up to this amount at every start of the node. */
const FAUCET_WEI = 10n ** 27n
const FAUCET_USDC = 10n ** 9n * 10n ** 6n

const TOKEN = artefact('DemoToken')
const USDT = artefact('DemoUsdt')
const WRAPPED = artefact('WrappedNative')
const FEED = artefact('DemoPriceFeed')
const MULTICALL3 = artefact('Multicall3')
const token = new Interface(TOKEN.abi)
const wrapped = new Interface(WRAPPED.abi)
const feed = new Interface(FEED.abi)

/**
 * Deploys missing contracts, sets missing prices and what the additions need.
 *
 * @param packages finds the packages that additions need
 * @throws Error when the node refuses
 */
export async function setUpChain(
  url: string,
  network: Network,
  packages = createRequire(import.meta.url),
): Promise<ChainSetup> {
  const own = planContracts(NATIVE_SYMBOL[network])
  const additions = await Promise.all(ADDITIONS.map(async ({ contracts }) => (await contracts?.()) ?? null))
  const others: Readonly<Record<string, Deployment>> = Object.assign(
    {},
    ...additions.map((addition) => addition?.plan(own.wrappedNative.address, packages)),
  )
  await deployMissing(url, [...Object.values(own), ...Object.values(others)])
  await mine(url)
  const contracts = mapValues(own, ({ address }) => address)
  const added = mapValues(others, ({ address }) => address)
  const prices = {
    native: await firstPrice(url, contracts.nativeFeed, PRICES[network]),
    usdc: await firstPrice(url, contracts.usdcFeed, DOLLAR),
    usdt: await firstPrice(url, contracts.usdtFeed, DOLLAR),
  }
  const tokens = tokensOf(url, contracts, prices)
  for (const addition of additions) await addition?.fill?.(url, added, tokens)
  await mine(url)
  return { contracts, added }
}

function planContracts(symbol: string): Readonly<Record<keyof ChainContracts, Deployment>> {
  const feedOf = (asset: string) =>
    planDeployment(FEED.bytecode, ['uint8', 'string', 'address'], [FEED_DECIMALS, `${asset} / USD`, OWNER])
  const usdc = ['USD Coin (sandbox)', 'USDC', 6, OWNER]
  return {
    multicall3: planDeployment(MULTICALL3.bytecode),
    usdc: planDeployment(TOKEN.bytecode, ['string', 'string', 'uint8', 'address'], usdc),
    usdt: planDeployment(USDT.bytecode, ['address'], [OWNER]),
    wrappedNative: planDeployment(
      WRAPPED.bytecode,
      ['string', 'string'],
      [`Wrapped ${symbol} (sandbox)`, `W${symbol}`],
    ),
    nativeFeed: feedOf(symbol),
    usdcFeed: feedOf('USDC'),
    usdtFeed: feedOf('USDT'),
  }
}

/** Sets the price of a feed that has none. @returns the price of the feed: one that a user changed is kept */
async function firstPrice(url: string, to: string, price: bigint): Promise<bigint> {
  const call = { to, data: feed.encodeFunctionData('latestRoundData') }
  const answer = await callRpc(url, 'eth_call', [call, 'latest']).catch(() => null) // A feed without a price reverts.
  if (answer !== null) return feed.decodeFunctionResult('latestRoundData', answer as string)[1] as bigint
  await send(url, { to, data: feed.encodeFunctionData('setAnswer', [price]) })
  return price
}

/** Funds the faucet's wallet with real transfers, which the chain follower sees as deposits. */
export async function fundFaucet(url: string, { usdc }: ChainContracts, address: string): Promise<void> {
  const native = BigInt((await callRpc(url, 'eth_getBalance', [address, 'latest'])) as string)
  if (native < FAUCET_WEI / 2n) {
    await callRpc(url, 'anvil_setBalance', [OWNER, toQuantity(2n * FAUCET_WEI)])
    await send(url, { to: address, value: toQuantity(FAUCET_WEI - native) })
  }
  const data = token.encodeFunctionData('balanceOf', [address])
  const held = BigInt((await callRpc(url, 'eth_call', [{ to: usdc, data }, 'latest'])) as string)
  if (held < FAUCET_USDC / 2n)
    await send(url, { to: usdc, data: token.encodeFunctionData('mint', [address, FAUCET_USDC - held]) })
  await mine(url)
}

function tokensOf(
  url: string,
  { wrappedNative, usdc, usdt }: ChainContracts,
  prices: Readonly<Record<'native' | 'usdc' | 'usdt', bigint>>,
): ChainTokens {
  const minted = (address: string, price: bigint): ChainToken => ({
    address,
    decimals: 6,
    price,
    supply: (amount) => send(url, { to: address, data: token.encodeFunctionData('mint', [OWNER, amount]) }),
  })
  const native: ChainToken = {
    address: wrappedNative,
    decimals: 18,
    price: prices.native,
    async supply(amount) {
      const held = BigInt((await callRpc(url, 'eth_getBalance', [OWNER, 'latest'])) as string)
      await callRpc(url, 'anvil_setBalance', [OWNER, toQuantity(held + amount)])
      await send(url, { to: wrappedNative, data: wrapped.encodeFunctionData('deposit'), value: toQuantity(amount) })
    },
  }
  return [native, minted(usdc, prices.usdc), minted(usdt, prices.usdt)]
}
