/**
 * Sets up a local chain: a token, price feeds, Multicall3, the factory of collections, and funds for the faucet. Every
 * address is derived from the code alone (CREATE2, EIP-1014), so a recreated chain has the same ones. Idempotent.
 */
import { readFileSync } from 'node:fs'
import { AbiCoder, Interface, type InterfaceAbi } from 'ethers/abi'
import { getCreate2Address } from 'ethers/address'
import { keccak256 } from 'ethers/crypto'
import { concat } from 'ethers/utils'
import { toQuantity } from '../chain/hex.ts'
import { FACTORY_CREATION_CODE } from '../chain/nft-artefact.ts'
import { DEPLOYMENT_PROXY } from '../chain/nft-collection.ts'
import { mapValues } from '../core/map-values.ts'
import { NATIVE_SYMBOL, type Network } from '../core/networks.ts'
import { callRpc } from './rpc.ts'

export type ChainContracts = {
  readonly multicall3: string
  /** A token with 6 decimals. */
  readonly usdc: string
  /** The prices in US dollars of the native currency and of USDC. */
  readonly nativeFeed: string
  readonly usdcFeed: string
  readonly nftFactory: string
}

type Artefact = { readonly abi: InterfaceAbi; readonly bytecode: string }

/** For the deployment proxy, which every anvil has from block 0. */
const SALT = `0x${'00'.repeat(32)}`
/** The first unlocked account of every anvil, which is funded and owns the deployed contracts. */
const OWNER = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

const FEED_DECIMALS = 8
/** Round example prices, with eight decimals. */
const PRICES: Readonly<Record<Network, bigint>> = {
  ethereum: 3_000_00000000n,
  polygon: 50000000n,
  binance: 600_00000000n,
}
const USDC_PRICE = 1_00000000n

/** The faucet is topped up to this amount at every start of the node. */
const FAUCET_WEI = 10n ** 27n
const FAUCET_USDC = 10n ** 9n * 10n ** 6n

const TOKEN = artefact('DemoToken')
const FEED = artefact('DemoPriceFeed')
const MULTICALL3 = artefact('Multicall3')
const token = new Interface(TOKEN.abi)
const feed = new Interface(FEED.abi)

/** Deploys missing contracts and sets missing prices. @throws Error when the node refuses */
export async function setUpChain(url: string, network: Network): Promise<ChainContracts> {
  const symbol = NATIVE_SYMBOL[network]
  const codes = {
    multicall3: MULTICALL3.bytecode,
    usdc: withArguments(TOKEN, ['string', 'string', 'uint8', 'address'], ['USD Coin (sandbox)', 'USDC', 6, OWNER]),
    nativeFeed: withArguments(FEED, ['uint8', 'string', 'address'], [FEED_DECIMALS, `${symbol} / USD`, OWNER]),
    usdcFeed: withArguments(FEED, ['uint8', 'string', 'address'], [FEED_DECIMALS, 'USDC / USD', OWNER]),
    nftFactory: FACTORY_CREATION_CODE,
  }
  for (const code of Object.values(codes)) {
    const deployed = await callRpc(url, 'eth_getCode', [addressOf(code), 'latest'])
    if (deployed === '0x') await send(url, { to: DEPLOYMENT_PROXY, data: concat([SALT, code]) })
  }
  await mine(url)
  const contracts = mapValues(codes, addressOf)
  await setFirstPrice(url, contracts.nativeFeed, PRICES[network])
  await setFirstPrice(url, contracts.usdcFeed, USDC_PRICE)
  await mine(url)
  return contracts
}

/** A price that a user changed is kept. */
async function setFirstPrice(url: string, to: string, price: bigint): Promise<void> {
  const call = { to, data: feed.encodeFunctionData('latestRoundData') }
  const hasPrice = await callRpc(url, 'eth_call', [call, 'latest']).then(
    () => true,
    () => false, // A feed without a price reverts.
  )
  if (!hasPrice) await send(url, { to, data: feed.encodeFunctionData('setAnswer', [price]) })
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

function artefact(name: string): Artefact {
  return JSON.parse(readFileSync(new URL(`../contracts/artifacts/${name}.json`, import.meta.url), 'utf8')) as Artefact
}

function withArguments({ bytecode }: Artefact, types: readonly string[], values: readonly unknown[]): string {
  return concat([bytecode, AbiCoder.defaultAbiCoder().encode(types, values)])
}

function addressOf(code: string): string {
  return getCreate2Address(DEPLOYMENT_PROXY, SALT, keccak256(code))
}

async function send(url: string, transaction: Readonly<Record<string, string>>): Promise<void> {
  await callRpc(url, 'eth_sendTransaction', [{ from: OWNER, ...transaction }])
}

async function mine(url: string): Promise<void> {
  await callRpc(url, 'evm_mine')
}
