/** A stranger who creates a token and pools of Uniswap V3 with any price and any positions. */
import { Interface } from 'ethers/abi'
import { toChecksumAddress } from '../../src/chain/address.ts'
import type { Asset } from '../../src/core/assets.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { MAX_TICK, sqrtPriceAtTick, tickAtSqrtPrice } from './amm/v3-math.ts'
import { compileSolidity, contractIn } from './solidity.ts'
import { ALICE, COIN, mined, type SwapStage, TOKEN } from './swap-stage.ts'

const SPACINGS = { 500: 10, 3000: 60, 10000: 200 } as const
type Tier = keyof typeof SPACINGS

const FACTORY = new Interface(['function getPool(address, address, uint24) view returns (address)'])
const MILLION_GAS = 1_000_000n
/** Positions minted in one transaction. */
const AT_ONCE = 40

/** A pool of the token and another one. @param price base units of the other token for one of the stranger's */
export type StrangePool = { readonly other: string; readonly tier: Tier; readonly price: number }

export async function withStranger(stage: SwapStage) {
  const { url, exchanges, contracts } = stage
  const { abi, bytecode } = contractIn(compileSolidity('Stranger.sol'), 'Stranger')
  const token = contractIn(compileSolidity('SwapToken.sol'), 'SwapToken')
  const deploy = async (data: string) =>
    toChecksumAddress((await mined(url, { from: ALICE, data })).contractAddress ?? '')
  const contract = await deploy(token.bytecode + 18n.toString(16).padStart(64, '0'))
  const stranger = await deploy(bytecode)
  const insist = async (transaction: Readonly<Record<string, string>>) => {
    const gas = `0x${(15n * MILLION_GAS).toString(16)}`
    const { status } = await mined(url, { from: ALICE, gas, ...transaction })
    if (status !== '0x1') throw new Error(`a transaction to ${transaction.to} reverted`)
  }
  const give = (asset: string, amount: bigint) =>
    insist({ to: asset, data: TOKEN.encodeFunctionData('transfer', [stranger, amount]) })
  const call = (name: string, values: readonly unknown[]) =>
    insist({ to: stranger, data: abi.encodeFunctionData(name, values) })
  await give(contract, 10n ** 30n)
  await insist({
    to: contracts.wrappedNative,
    data: TOKEN.encodeFunctionData('deposit'),
    value: `0x${(200n * COIN).toString(16)}`,
  })
  await give(contracts.wrappedNative, 100n * COIN)

  /** Its address, and whether the price of the pool is that of the stranger's token. */
  async function made({ other, tier, price }: StrangePool, atEdge: boolean) {
    const isFirst = BigInt(contract) < BigInt(other)
    const spacing = SPACINGS[tier]
    const wanted = tickAtSqrtPrice(BigInt(Math.floor(Math.sqrt(isFirst ? price : 1 / price) * 2 ** 96)))
    const tick = Math.floor(wanted / spacing) * spacing
    // At the edge, a position below or above the price is of the other token alone.
    const edge = sqrtPriceAtTick(tick) - (isFirst ? 1n : 0n)
    await call('make', [exchanges.v3Factory, contract, other, tier, atEdge ? edge : sqrtPriceAtTick(tick)])
    const data = FACTORY.encodeFunctionData('getPool', [contract, other, tier])
    const answer = (await callRpc(url, 'eth_call', [{ to: exchanges.v3Factory, data }, 'latest'])) as string
    return { pool: toChecksumAddress(`0x${answer.slice(-40)}`), isFirst, tick, spacing }
  }

  return {
    asset: { assetId: 'X', symbol: 'X', decimals: 18, contract } satisfies Asset,
    give,
    /** An honest pool, over the whole range. */
    async full(strange: StrangePool, liquidity: bigint) {
      const { pool, spacing } = await made(strange, false)
      const last = Math.floor(MAX_TICK / spacing) * spacing
      await call('fill', [pool, -last, 2 * last, 1, liquidity])
      return pool
    },
    /** A pool that says it is deep, and has next to nothing: one narrow position, at whose edge the price is. */
    async shallow(strange: StrangePool, liquidity: bigint) {
      const { pool, isFirst, tick, spacing } = await made(strange, true)
      await call('fill', [pool, isFirst ? tick - spacing : tick, spacing, 1, liquidity])
    },
    /** A pool whose sellers cross many prices: positions side by side, each of almost nothing. */
    async crowded(strange: StrangePool, positions: number) {
      const { pool, isFirst, tick, spacing } = await made(strange, false)
      for (let done = 0; done < positions; done += AT_ONCE) {
        const lowest = isFirst ? tick - (done + AT_ONCE - 1) * spacing : tick + done * spacing
        await call('fill', [pool, lowest, spacing, AT_ONCE, 10n ** 6n])
      }
    },
  }
}
