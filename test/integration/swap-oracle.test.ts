/** The integers that judge the search for routes are those of real pools, to the unit. */
import t from 'tap'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { amountsOf } from '../../src/swaps/route.ts'
import { MAX_TICK, sqrtPriceAtTick, swapV3, tickAtSqrtPrice } from '../support/amm/v3-math.ts'
import { COIN, DOLLAR, withSwaps } from '../support/swap-stage.ts'

const SPACING = 10

t.test('a pool of Uniswap V3 gives what the oracle computes', async (t) => {
  const stage = await withSwaps(t)
  const { eth, usdc } = stage.assets
  const only = { venues: [{ ...stage.venues.v3, tiers: [500] }], hops: [] }
  const orders = [1n, COIN, 77n * COIN, 1_234_567_890_123_456_789_012n].map((amount) => ({
    from: eth,
    to: usdc,
    amount,
  }))
  const sales = [DOLLAR, 1_000_001n * DOLLAR].map((amount) => ({ from: usdc, to: eth, amount }))
  for (const order of [...orders.slice(1), ...sales])
    for (const amountType of ['exact_input', 'exact_output'] as const) {
      const fixed = amountType === 'exact_input' ? order : { ...order, from: order.to, to: order.from }
      const wanted = { ...fixed, amountType, maxPriceImpactBps: 10_000 }
      const [{ route }] = (await stage.find(wanted, only)).routes
      const pool = route.type === 'pools' ? (route.legs[0]?.hops[0]?.pool ?? '') : ''
      const word = async (data: string) =>
        BigInt(((await callRpc(stage.url, 'eth_call', [{ to: pool, data }, 'latest'])) as string).slice(0, 66))
      const [sqrtPrice, liquidity] = [await word('0x3850c7bd'), await word('0x1a686502')]
      const last = Math.floor(MAX_TICK / SPACING) * SPACING
      const ticks = [-last, last].map((tick, i) => ({
        tick,
        net: i === 0 ? liquidity : -liquidity,
        sqrtPrice: sqrtPriceAtTick(tick),
      }))
      const tick = tickAtSqrtPrice(sqrtPrice)
      const state = { feePpm: 500, tickSpacing: SPACING, sqrtPrice, tick, liquidity, ticks }
      const { weth } = stage.assets
      const [tokenIn, tokenOut] = [wanted.from, wanted.to].map(({ contract }) => BigInt(contract ?? weth.contract ?? 0))
      const isFirstIn = (tokenIn ?? 0n) < (tokenOut ?? 0n)
      const exactOutput = amountType === 'exact_output'
      const computed = swapV3(state, { isFirstIn, exactOutput, amount: order.amount })
      const { amountIn, amountOut } = amountsOf(route)
      const name = `${order.amount} of ${order.from.symbol}, ${amountType}`
      t.equal(computed.amountIn, amountIn, `${name}: in`)
      t.equal(computed.amountOut, amountOut, `${name}: out`)
    }
})
