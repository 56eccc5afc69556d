/** Anybody can make pools. What they say about themselves decides no route: what they give does. */
import t from 'tap'
import { amountsOf } from '../../src/swaps/route.ts'
import { withNodeProxy } from '../support/service-node-proxy.ts'
import { withStranger } from '../support/stranger.ts'
import { deployTokenPair } from '../support/swap-pair.ts'
import { COIN, DOLLAR, withSwaps } from '../support/swap-stage.ts'

/** Base units of USDC for one of a token with 18 decimals that is worth a dollar, and of WETH. */
const IN_USDC = 1e-12
const IN_WETH = 1 / 3_000

t.test('pools that claim to be the deepest of a hop take no swap from the honest one', async (t) => {
  const stage = await withSwaps(t)
  const { usdt } = stage.assets
  const stranger = await withStranger(stage)
  const other = stage.contracts.wrappedNative
  await stranger.full({ other, tier: 3_000, price: IN_WETH }, 10n ** 21n)
  for (const tier of [500, 10_000] as const) await stranger.shallow({ other, tier, price: IN_WETH / 1e6 }, 10n ** 23n)
  const { found, outcome } = await stage.quote({ from: stranger.asset, to: usdt, amount: 100n * COIN })
  const { amountOut } = amountsOf(found.route)
  t.ok(amountOut > 98n * DOLLAR && amountOut < 100n * DOLLAR, `100 X give ${amountOut} of USDT`)
  t.match(outcome, { type: 'swapped', received: amountOut })
  const moved = await stage.swap(found.route, { from: stranger.asset, to: usdt })
  t.match(moved, { received: amountOut })
})

t.test('a pool with a strange price does not say what gas costs', async (t) => {
  const stage = await withSwaps(t)
  const { eth, usdc } = stage.assets
  const stranger = await withStranger(stage)
  const buy = { from: eth, to: usdc, amount: 60n * COIN }
  await stage.swap((await stage.quote(buy)).found.route, buy)
  await stranger.give(stage.contracts.usdc, 120_000n * DOLLAR)
  await stranger.full({ other: stage.contracts.usdc, tier: 3_000, price: IN_USDC }, 10n ** 17n)
  await deployTokenPair(stage, [stranger.asset.contract, 1_100n * COIN], [stage.contracts.usdc, 1_100n * DOLLAR])
  await stranger.shallow({ other: stage.contracts.wrappedNative, tier: 500, price: IN_WETH / 1e5 }, 10n ** 24n)
  const wanted = { from: usdc, to: stranger.asset, amount: 1_000n * DOLLAR, maxPriceImpactBps: 5_000 }
  const { found } = await stage.quote(wanted)
  const { amountOut } = amountsOf(found.route)
  t.ok(amountOut > 980n * COIN, `1,000 USDC give ${amountOut} of X`)
})

t.test('a pool that burns the gas of its quotes costs other pools nothing', async (t) => {
  let trips = 0
  const stage = await withSwaps(t, async (url) => {
    const proxy = await withNodeProxy(t, url)
    proxy.decide = (calls) => {
      trips += calls.some(({ method }) => method === 'eth_chainId') ? 0 : 1
      return { type: 'pass' }
    }
    return proxy.url
  })
  const { eth, usdc } = stage.assets
  const stranger = await withStranger(stage)
  const buy = { from: eth, to: usdc, amount: 60n * COIN }
  await stage.swap((await stage.quote(buy)).found.route, buy)
  await stranger.give(stage.contracts.usdc, 120_000n * DOLLAR)
  const other = stage.contracts.usdc
  await stranger.full({ other, tier: 3_000, price: IN_USDC }, 10n ** 17n)
  await stranger.crowded({ other, tier: 500, price: IN_USDC }, 960)
  const wanted = { from: stranger.asset, to: usdc, amount: 1_000n * COIN, maxPriceImpactBps: 5_000 }
  trips = 0
  const { routes, isComplete } = await stage.find(wanted)
  const { amountOut } = amountsOf(routes[0].route)
  t.ok(amountOut > 980n * DOLLAR, `1,000 X give ${amountOut} of USDC`)
  t.equal(isComplete, false, 'the quote knows that a pool did not answer')
  t.ok(trips <= 4, `${trips} round trips: the pool was asked again alone`)
  const alone = { venues: [{ ...stage.venues.v3, tiers: [500] }], hops: [] }
  await t.rejects(stage.find(wanted, alone), { code: 'swap_pools_unanswered' }, 'it is not called a lack of liquidity')
})
