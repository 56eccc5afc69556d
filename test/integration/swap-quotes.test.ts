/** Quotes of swaps against the real contracts of Uniswap V2 and V3. */
import { Interface } from 'ethers/abi'
import t from 'tap'
import { callRpc } from '../../src/sandbox/rpc.ts'
import type { Route } from '../../src/swaps/events.ts'
import { gasReserve } from '../../src/swaps/quote.ts'
import { amountsOf } from '../../src/swaps/route.ts'
import { withNodeProxy } from '../support/service-node-proxy.ts'
import { compileSolidity } from '../support/solidity.ts'
import { deployPair } from '../support/swap-pair.ts'
import { ALICE, COIN, DOLLAR, type SwapStage, TOKEN, type Wanted, withSwaps } from '../support/swap-stage.ts'

/** The pools of each leg, by fee. */
function shape(route: Route): string {
  if (route.type !== 'pools') return route.type
  return route.legs.map(({ kind, hops }) => [kind, ...hops.map(({ feePpm }) => feePpm)].join(' ')).join(' + ')
}

async function refusal(promise: Promise<unknown>) {
  return promise.then(
    () => null,
    (error: { items: readonly { code: string; field?: string; details?: object }[] }) => error.items[0],
  )
}

t.test('every kind of route executes what was quoted, to the unit', async (t) => {
  const stage = await withSwaps(t)
  const { eth, weth, usdc, usdt } = stage.assets
  const v2 = { venues: [stage.venues.v2] }
  const v3 = { venues: [{ ...stage.venues.v3, tiers: [500] }], hops: [] }
  const onlyMiddle = { venues: [{ ...stage.venues.v3, tiers: [3_000] }] }
  const output = { amountType: 'exact_output' } as const
  const cases: readonly [string, Wanted, object?][] = [
    ['wrap', { from: eth, to: weth, amount: 20n * COIN }],
    ['unwrap', { from: weth, to: eth, amount: COIN, ...output }],
    ['v3 500', { from: eth, to: usdc, amount: 20n * COIN }, v3],
    ['v3 500', { from: eth, to: usdt, amount: 5_000n * DOLLAR, ...output }, v3],
    ['v3 500', { from: usdc, to: eth, amount: 1_000n * DOLLAR + 7n }, v3],
    ['v3 500', { from: usdc, to: eth, amount: COIN / 10n, ...output }, v3],
    ['v3 500', { from: weth, to: usdc, amount: 123_456_789_012_345_678n }, v3],
    ['v3 500', { from: usdt, to: usdc, amount: 1_000n * DOLLAR + 1n, ...output }, v3],
    ['v3 3000 3000', { from: usdc, to: usdt, amount: 999n * DOLLAR }, onlyMiddle],
    ['v3 3000 3000', { from: usdt, to: usdc, amount: 100n * DOLLAR, ...output }, onlyMiddle],
    ['v2 3000', { from: eth, to: usdc, amount: COIN }, v2],
    ['v2 3000', { from: eth, to: usdc, amount: 777n * DOLLAR, ...output }, v2],
    ['v2 3000', { from: usdc, to: eth, amount: 500n * DOLLAR }, v2],
    ['v2 3000', { from: usdt, to: eth, amount: COIN / 7n, ...output }, v2],
    ['v2 3000', { from: usdc, to: usdt, amount: 321n * DOLLAR }, v2],
    ['v2 3000', { from: usdt, to: weth, amount: COIN / 9n, ...output }, v2],
  ]
  for (const [expected, wanted, market] of cases) {
    const name = `${wanted.from.symbol} to ${wanted.to.symbol}, ${expected}, ${wanted.amountType ?? 'exact_input'}`
    const { found, outcome } = await stage.quote(wanted, market)
    const { amountIn, amountOut } = amountsOf(found.route)
    t.equal(shape(found.route), expected, name)
    t.match(outcome, { type: 'swapped', paid: amountIn, received: amountOut }, `${name}: simulated`)
    const moved = await stage.swap(found.route, wanted)
    t.match(moved, { paid: amountIn, received: amountOut }, `${name}: executed`)
    if (moved === null || outcome.type !== 'swapped') continue
    const held = gasReserve(outcome.gas.swap)
    t.ok(moved.gasUsed <= held, `${name}: uses ${moved.gasUsed} of ${held} gas`)
    const routers = [stage.exchanges.swapRouter, stage.exchanges.v2Router]
    for (const router of routers)
      t.equal(BigInt((await callRpc(stage.url, 'eth_getBalance', [router, 'latest'])) as string), 0n, 'nothing stays')
  }
})

t.test('a large swap is split over pools where that wins more than its gas', async (t) => {
  const stage = await withSwaps(t)
  const { eth, usdc } = stage.assets
  const wanted = { from: eth, to: usdc, amount: 1_000n * COIN, maxPriceImpactBps: 2_000 }
  const { found } = await stage.quote(wanted)
  const parts = shape(found.route).split(' + ')
  t.ok(
    ['v3 500', 'v3 3000', 'v2 3000'].every((part) => parts.includes(part)),
    parts.join(' + '),
  )
  const { amountIn, amountOut } = amountsOf(found.route)
  t.equal(amountIn, 1_000n * COIN)
  const alone = (await stage.find(wanted)).routes.find(({ route }) => shape(route) === 'v3 500')
  t.ok(alone !== undefined && amountOut > amountsOf(alone.route).amountOut)
  t.ok(alone !== undefined && found.priceImpactBps < alone.priceImpactBps, 'and moves the price less')
  const small = await stage.quote({ from: eth, to: usdc, amount: COIN / 100n, gasPrice: 100n * 10n ** 9n })
  t.equal(shape(small.found.route), 'v2 3000', 'gas decides for a small amount')
  t.match(await stage.swap(found.route, wanted), { paid: amountIn, received: amountOut })
  const back = {
    from: usdc,
    to: eth,
    amount: 800n * COIN,
    maxPriceImpactBps: 2_000,
    amountType: 'exact_output',
  } as const
  const sold = await stage.quote(back)
  t.match(shape(sold.found.route), / \+ /)
  t.match(await stage.swap(sold.found.route, back), {
    received: 800n * COIN,
    paid: amountsOf(sold.found.route).amountIn,
  })
})

t.test('a swap is split over a V3 pool and a V2 pair, by the router of both', async (t) => {
  const stage = await withSwaps(t)
  const { eth, usdc } = stage.assets
  const { v3, v2 } = stage.venues
  const oneTier = { venues: [{ ...v3, tiers: [3_000] }, v2], hops: [] }
  const terms = { amount: 900n * COIN, maxPriceImpactBps: 5_000 }
  const funds = { from: eth, to: usdc, ...terms, amount: 1_500n * COIN }
  await stage.swap((await stage.quote(funds, { venues: [{ ...v3, tiers: [500] }], hops: [] })).found.route, funds)
  for (const wanted of [
    { from: eth, to: usdc, ...terms },
    { from: usdc, to: eth, ...terms, amount: 2_000_000n * DOLLAR },
  ]) {
    const untouched = await callRpc(stage.url, 'evm_snapshot', [])
    const { found } = await stage.quote(wanted, oneTier)
    const { amountIn, amountOut } = amountsOf(found.route)
    t.strictSame(shape(found.route).split(' + ').sort(), ['v2 3000', 'v3 3000'])
    t.match(await stage.swap(found.route, wanted), { paid: amountIn, received: amountOut })
    t.equal(BigInt((await callRpc(stage.url, 'eth_getBalance', [v3.router, 'latest'])) as string), 0n, 'nothing stays')
    await callRpc(stage.url, 'evm_revert', [untouched])
  }
  const apart = { venues: [{ ...v3, tiers: [3_000], factoryV2: null }, v2], hops: [] }
  const { found } = await stage.quote({ from: eth, to: usdc, ...terms }, apart)
  t.notMatch(shape(found.route), / \+ /, 'a router of other pairs cannot')
  const exact = { from: usdc, to: eth, ...terms, amountType: 'exact_output' as const }
  t.notMatch(shape((await stage.quote(exact, oneTier)).found.route), / \+ /, 'an exact output would be inexact')
})

t.test('a quoter fills a part without a refusal; it is no quote', async (t) => {
  const stage = await withSwaps(t)
  const { usdc, usdt, eth } = stage.assets
  const v3 = { venues: [stage.venues.v3], hops: [] }
  const amount = 2n ** 127n
  const wanted = { from: usdc, to: usdt, amount, maxPriceImpactBps: 5_000 }
  const quoter = new Interface([
    'function quoteExactInputSingle((address tokenIn, address tokenOut, uint256 amountIn, uint24 fee, uint160 limit)) returns (uint256)',
  ])
  const order = [stage.contracts.usdc, stage.contracts.usdt, amount, 500, 0]
  const data = quoter.encodeFunctionData('quoteExactInputSingle', [order])
  const quoted = await callRpc(stage.url, 'eth_call', [{ to: stage.exchanges.quoter, data }, 'latest'])
  t.ok(BigInt((quoted as string).slice(0, 66)) > 0n, 'the quoter quotes it')
  t.match(await refusal(stage.find(wanted, v3)), { field: 'amount', code: 'insufficient_liquidity' })
  const tooMuch = { from: usdc, to: eth, amount: 10n ** 9n * COIN, amountType: 'exact_output' } as const
  t.match(await refusal(stage.find(tooMuch)), { field: 'amount', code: 'insufficient_liquidity' })
})

t.test('a price impact above the bound is refused with its figures', async (t) => {
  const stage = await withSwaps(t)
  const { eth, usdc } = stage.assets
  const large = { from: eth, to: usdc, amount: 3_000n * COIN }
  t.match(await refusal(stage.find(large)), {
    field: 'amount',
    code: 'price_impact_too_high',
    details: { price_impact_bps: Number, max_price_impact_bps: 300, from_amount: '3000', to_amount: String },
  })
  const { routes } = await stage.find({ ...large, maxPriceImpactBps: 5_000 })
  t.ok(routes[0].priceImpactBps > 300)
  const small = await stage.find({ ...large, amount: COIN })
  t.ok(small.routes[0].priceImpactBps <= 3, `${small.routes[0].priceImpactBps} bps`)
  t.equal(small.routes[0].lpFeeBps, 5)
})

t.test('tokens without a pool have no route', async (t) => {
  const stage = await withSwaps(t)
  const { usdc } = stage.assets
  const stranger = { assetId: 'X', symbol: 'X', decimals: 18, contract: ALICE }
  const wanted = { from: usdc, to: stranger, amount: 1n }
  t.match(await refusal(stage.find(wanted)), { field: 'to_asset', code: 'no_route' })
})

t.test('a quote is of one block, although blocks come meanwhile, in three round trips', async (t) => {
  const trips: string[][] = []
  const own = () => trips.filter((methods) => !methods.includes('eth_chainId'))
  let traded: Promise<unknown> = Promise.resolve()
  const stage: SwapStage = await withSwaps(t, async (url) => {
    const proxy = await withNodeProxy(t, url)
    proxy.decide = (calls) => {
      trips.push(calls.map(({ method }) => method))
      // The first trip reads the block.
      return own().length < 2 ? { type: 'pass' } : { type: 'held', until: traded }
    }
    return proxy.url
  })
  const { eth, usdc } = stage.assets
  const wanted = { from: eth, to: usdc, amount: 5n * COIN }
  const before = await stage.find(wanted)
  t.equal(own().length, 3, 'with pools that are not known yet')
  trips.length = 0
  const again = await stage.find(wanted)
  t.equal(own().length, 3, 'with known pools')
  t.strictSame(again.routes[0].route, before.routes[0].route, 'an unchanged chain gives the same quote')

  // A trader moves the price while a quote is made: after its block is fixed, before its prices are asked. The node has the
  // new block by then: anvil answers a question about its newest block from the one that it is just making.
  const { route: theirs } = (await stage.find({ ...wanted, amount: 500n * COIN, maxPriceImpactBps: 5_000 })).routes[0]
  trips.length = 0
  let mined: (() => void) | undefined
  traded = new Promise<void>((resolve) => {
    mined = resolve
  })
  const asking = stage.find(wanted)
  while (own().length < 2) await new Promise((again) => setImmediate(again))
  await stage.swap(theirs, wanted)
  mined?.()
  const during = await asking
  t.strictSame(during.routes[0].route, before.routes[0].route)
  t.equal(during.block.number, before.block.number)
  const after = await stage.find(wanted)
  t.ok(amountsOf(after.routes[0].route).amountOut < amountsOf(before.routes[0].route).amountOut)
})

t.test('only a token that refuses to change an allowance has it set to 0 first', async (t) => {
  const stage = await withSwaps(t)
  const { eth, usdc, usdt } = stage.assets
  for (const token of [usdc, usdt]) {
    const { found } = await stage.quote({ from: eth, to: token, amount: COIN })
    await stage.swap(found.route, { from: eth, to: token })
  }
  const sell = { to: eth, amount: 100n * DOLLAR }
  for (const token of [usdc, usdt]) {
    const { outcome } = await stage.quote({ ...sell, from: token })
    t.match(outcome, { type: 'swapped', resetFirst: false }, `${token.symbol} without an allowance`)
  }
  for (const token of [usdc, usdt]) {
    const approve = TOKEN.encodeFunctionData('approve', [stage.exchanges.swapRouter, 1n])
    await stage.call(token.contract ?? '', approve)
    const { outcome } = await stage.quote({ ...sell, from: token })
    t.match(outcome, { type: 'swapped', resetFirst: token === usdt }, `${token.symbol} with an allowance of 1`)
  }
})

t.test('a token with a fee is quoted as it arrives, through V2 only, and never as an exact output', async (t) => {
  const stage = await withSwaps(t)
  const { eth } = stage.assets
  const bytecode = compileSolidity('FeeToken.sol').get('FeeToken')?.bytecode ?? ''
  const contract = await deployPair(stage, bytecode, 1_000_000n * COIN)
  const fee = { assetId: 'FEE', symbol: 'FEE', decimals: 18, contract }

  const buy = { from: eth, to: fee, amount: COIN }
  const { found, outcome } = await stage.quote(buy)
  const { amountOut, limit } = amountsOf(found.route)
  t.match(outcome, { type: 'swapped', received: amountOut })
  t.ok(amountOut < 998n * COIN - 15n * COIN, 'less than the pool computes')
  t.ok(limit <= amountOut)
  t.ok(found.priceImpactBps >= 200, 'its fee counts as a loss')
  t.match(await stage.swap(found.route, buy), { received: amountOut })
  t.match(await refusal(stage.quote({ ...buy, maxPriceImpactBps: 50 })), { code: 'price_impact_too_high' })
  const exact = { ...buy, amountType: 'exact_output' } as const
  t.match(await refusal(stage.quote(exact)), { field: 'amount', code: 'unusual_token' })

  // Alice deployed it and pays no fee; what she sells arrives in full, so the pool takes none either.
  const sold = await stage.quote({ from: fee, to: eth, amount: 100n * COIN })
  t.match(sold.outcome, { type: 'swapped', received: amountsOf(sold.found.route).amountOut })
})
