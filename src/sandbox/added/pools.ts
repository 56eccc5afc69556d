/**
 * The pools of a local chain's exchanges: deep, over the whole range of prices, and at the prices of the feeds when they
 * are made. A pool that exists is left as it is: users have traded with it.
 */

import { Interface } from 'ethers/abi'
import { MaxUint256 } from 'ethers/constants'
import { judgeFork } from '../../chain/fork-watch.ts'
import { sandboxPoolGas } from '../../chain/forks.ts'
import { toQuantity } from '../../chain/hex.ts'
import { squareRoot } from '../../core/money.ts'
import type { ChainToken, ChainTokens } from '../addition.ts'
import { OWNER, send } from '../deploy.ts'
import { callRpc } from '../rpc.ts'
import type { Exchanges } from './exchanges.ts'

/** A fee in hundredths of a basis point makes a V3 pool, none a V2 pair. */
type Plan = { readonly tokens: readonly [ChainToken, ChainToken]; readonly fee: Fee | null; readonly dollars: bigint }
type Fee = keyof typeof TICK_SPACING

/** The fees of V3 pools that a fresh factory allows. */
const TICK_SPACING = { 500: 10, 3000: 60, 10000: 200 } as const
const LAST_TICK = 887_272
const PRICE_UNIT = 10n ** 8n

const FACTORIES = new Interface([
  'function getPool(address, address, uint24) view returns (address)',
  'function getPair(address, address) view returns (address)',
])
const V2_ROUTER = new Interface([
  'function addLiquidity(address tokenA, address tokenB, uint256 a, uint256 b, uint256 minA, uint256 minB, address to, uint256 deadline)',
])
const POSITION_MANAGER = new Interface([
  'function multicall(bytes[] data)',
  'function createAndInitializePoolIfNecessary(address token0, address token1, uint24 fee, uint160 sqrtPriceX96)',
  'function mint((address token0, address token1, uint24 fee, int24 tickLower, int24 tickUpper, uint256 amount0Desired, uint256 amount1Desired, uint256 amount0Min, uint256 amount1Min, address recipient, uint256 deadline))',
])
const TOKEN = new Interface([
  'function allowance(address, address) view returns (uint256)',
  'function approve(address, uint256)',
])

/** Sends the transactions that make the missing pools; the next block has them. */
export async function fillPools(url: string, exchanges: Exchanges, [native, usdc, usdt]: ChainTokens): Promise<void> {
  const plans: readonly Plan[] = [
    ...[usdc, usdt].flatMap((dollar): Plan[] => [
      { tokens: [native, dollar], fee: 500, dollars: 30_000_000n },
      { tokens: [native, dollar], fee: 3000, dollars: 15_000_000n },
      { tokens: [native, dollar], fee: 10000, dollars: 5_000_000n },
      { tokens: [native, dollar], fee: null, dollars: 10_000_000n },
    ]),
    { tokens: [usdc, usdt], fee: 500, dollars: 20_000_000n },
    { tokens: [usdc, usdt], fee: null, dollars: 10_000_000n },
  ]
  const found = await Promise.all(plans.map((plan) => exists(url, exchanges, plan)))
  const missing = plans.filter((_, index) => !found[index])
  if (missing.length === 0) return
  for (const token of [native, usdc, usdt]) await supply(url, exchanges, token, missing)
  for (const plan of missing) await make(url, exchanges, plan)
}

async function exists(url: string, { v2Factory, v3Factory }: Exchanges, { tokens, fee }: Plan): Promise<boolean> {
  const pair = tokens.map(({ address }) => address)
  const call =
    fee === null
      ? { to: v2Factory, data: FACTORIES.encodeFunctionData('getPair', pair) }
      : { to: v3Factory, data: FACTORIES.encodeFunctionData('getPool', [...pair, fee]) }
  return BigInt((await callRpc(url, 'eth_call', [call, 'latest'])) as string) !== 0n
}

/** Gives the owner what the pools take, and lets the exchanges take it. */
async function supply(
  url: string,
  { positionManager, v2Router }: Exchanges,
  token: ChainToken,
  plans: readonly Plan[],
): Promise<void> {
  const amounts = plans.filter(({ tokens }) => tokens.includes(token)).map(({ dollars }) => amountOf(token, dollars))
  if (amounts.length === 0) return
  await token.supply(amounts.reduce((sum, amount) => sum + amount))
  for (const spender of [positionManager, v2Router]) {
    const data = TOKEN.encodeFunctionData('allowance', [OWNER, spender])
    const allowed = BigInt((await callRpc(url, 'eth_call', [{ to: token.address, data }, 'latest'])) as string)
    if (allowed > 0n) continue // It is unlimited: nobody else approves for the owner.
    const approve = TOKEN.encodeFunctionData('approve', [spender, MaxUint256])
    await send(url, { to: token.address, data: approve })
  }
}

async function make(url: string, { positionManager, v2Router }: Exchanges, plan: Plan): Promise<void> {
  const { tokens, fee, dollars } = plan
  const gas = await gasOf(url)
  const [a, b] = tokens
  const [token0, token1] = BigInt(a.address) < BigInt(b.address) ? [a, b] : [b, a]
  const [amount0, amount1] = [amountOf(token0, dollars), amountOf(token1, dollars)]
  const pair = [token0.address, token1.address]
  if (fee === null) {
    const values = [...pair, amount0, amount1, 0, 0, OWNER, MaxUint256]
    await send(url, { gas: gas.pair, to: v2Router, data: V2_ROUTER.encodeFunctionData('addLiquidity', values) })
    return
  }
  const tick = LAST_TICK - (LAST_TICK % TICK_SPACING[fee])
  const steps = [
    POSITION_MANAGER.encodeFunctionData('createAndInitializePoolIfNecessary', [
      ...pair,
      fee,
      squareRoot((amount1 << 192n) / amount0),
    ]),
    POSITION_MANAGER.encodeFunctionData('mint', [
      [...pair, fee, -tick, tick, amount0, amount1, 0, 0, OWNER, MaxUint256],
    ]),
  ]
  const data = POSITION_MANAGER.encodeFunctionData('multicall', [steps])
  await send(url, { gas: gas.pool, to: positionManager, data })
}

/** The node cannot estimate a transaction that builds on waiting ones. */
async function gasOf(url: string) {
  const header = (await callRpc(url, 'eth_getBlockByNumber', ['latest', false])) as Readonly<Record<string, unknown>>
  const { pool, pair } = sandboxPoolGas(judgeFork(header, null, null).fork)
  return { pool: toQuantity(pool), pair: toQuantity(pair) }
}

function amountOf({ decimals, price }: ChainToken, dollars: bigint): bigint {
  return (dollars * PRICE_UNIT * 10n ** BigInt(decimals)) / price
}
