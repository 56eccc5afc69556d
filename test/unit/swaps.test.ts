/** The figures of swaps: bounds, price impact, and the choice of a route. */

import fc from 'fast-check'
import t from 'tap'
import { maximumIn, minimumOut } from '../../src/swaps/bounds.ts'
import { candidatesOf, type LivingPool } from '../../src/swaps/candidates.ts'
import { optionsOf } from '../../src/swaps/choose.ts'
import { lpFeeBps, type PricedLeg, priceImpactBps } from '../../src/swaps/impact.ts'
import type { Market, Venue } from '../../src/swaps/market.ts'
import { partsOf, type QuotedPath } from '../../src/swaps/quote-paths.ts'
import { valueDifferenceBps } from '../../src/swaps/value-difference.ts'
import { OSAKA } from '../support/gas.ts'

const A = '0x1111111111111111111111111111111111111111'
const B = '0x2222222222222222222222222222222222222222'
const C = '0x3333333333333333333333333333333333333333'
const ROUTER = '0x4444444444444444444444444444444444444444'
const QUOTER = '0x6666666666666666666666666666666666666666'

const V3: Venue = {
  name: 'three',
  kind: 'v3',
  router: ROUTER,
  quoter: QUOTER,
  factory: QUOTER,
  factoryV2: null,
  tiers: [500, 3000],
}
const V2: Venue = {
  name: 'two',
  kind: 'v2',
  router: QUOTER,
  quoter: QUOTER,
  factory: QUOTER,
  factoryV2: null,
  tiers: [],
}
const MARKET: Market = { chainId: 1, venues: [V3, V2], wrapped: A, hops: [C], rules: OSAKA }

const amounts = fc.bigInt({ min: 1n, max: 10n ** 30n })
const slippages = fc.integer({ min: 0, max: 5_000 })

t.test('bounds never cost the caller more than the slippage', (t) => {
  fc.assert(
    fc.property(amounts, slippages, (amount, slippage) => {
      const [least, most] = [minimumOut(amount, slippage), maximumIn(amount, slippage)]
      const bps = BigInt(slippage)
      return (
        least > 0n &&
        least <= amount &&
        least * 10_000n >= amount * (10_000n - bps) &&
        (least - 1n) * 10_000n < amount * (10_000n - bps) &&
        most >= amount &&
        most * 10_000n <= amount * (10_000n + bps) &&
        (most + 1n) * 10_000n > amount * (10_000n + bps)
      )
    }),
  )
  t.equal(minimumOut(999n, 50), 995n, 'a minimum is rounded up')
  t.equal(maximumIn(999n, 50), 1_003n, 'a maximum is rounded down')
  t.equal(minimumOut(1n, 5_000), 1n, 'and is never nothing')
  t.end()
})

/** A pool of the constant product, as V2 computes it. */
function swapIn(amountIn: bigint, reserves: readonly [bigint, bigint], feePpm: number): bigint {
  const after = amountIn * (1_000_000n - BigInt(feePpm))
  return (after * reserves[1]) / (reserves[0] * 1_000_000n + after)
}

function pricedLeg(amountIn: bigint, reserves: readonly (readonly [bigint, bigint])[], feePpm: number): PricedLeg {
  const amountOut = reserves.reduce((amount, pair) => swapIn(amount, pair, feePpm), amountIn)
  return { amountIn, amountOut, hops: reserves.map(([a, b]) => ({ feePpm, price: { in: a, out: b } })) }
}

const reserve = fc.bigInt({ min: 10n ** 20n, max: 10n ** 28n })
const pools = fc.array(fc.tuple(reserve, reserve), { minLength: 1, maxLength: 2 })
const feesPpm = fc.constantFrom(0, 100, 500, 3_000, 10_000)

t.test('a price impact is never negative, and grows with the amount', (t) => {
  fc.assert(
    fc.property(pools, feesPpm, fc.integer({ min: 1, max: 400 }), (path, feePpm, thousandths) => {
      const [first] = path
      if (first === undefined) return false
      const amount = (first[0] * BigInt(thousandths)) / 1_000n
      const [less, more] = [pricedLeg(amount, path, feePpm), pricedLeg(2n * amount, path, feePpm)]
      // Below a million units, the rounding of the pool itself counts.
      fc.pre(less.amountOut > 10n ** 6n)
      const [small, large] = [priceImpactBps([less]), priceImpactBps([more])]
      return small >= 0 && small <= large && large <= 10_000
    }),
  )
  t.end()
})

t.test('a price impact leaves out the fees of the pools, and is rounded up', (t) => {
  const reserves = [[10n ** 24n, 10n ** 24n]] as const
  t.equal(priceImpactBps([pricedLeg(10n ** 20n, reserves, 0)]), 1, '0.9999 bps')
  t.equal(priceImpactBps([pricedLeg(10n ** 20n, reserves, 3_000)]), 1, 'the same with a fee')
  t.equal(priceImpactBps([pricedLeg(10n ** 23n, reserves, 0)]), 910, '909.09 bps')
  t.equal(priceImpactBps([]), 0, 'a wrap has none')
  t.equal(lpFeeBps([pricedLeg(10n ** 20n, reserves, 3_000)]), 30)
  t.equal(lpFeeBps([pricedLeg(10n ** 20n, [...reserves, ...reserves], 3_000)]), 60, '59.91 bps')
  t.equal(
    lpFeeBps([pricedLeg(3n * 10n ** 20n, reserves, 500), pricedLeg(10n ** 20n, reserves, 10_000)]),
    29,
    'a split pays the mean of its parts: 28.75 bps',
  )
  t.end()
})

t.test('the difference in value is rounded against the caller, and null without a price', (t) => {
  const asset = (symbol: string, decimals: number) => ({ assetId: symbol, symbol, decimals, contract: null })
  const [from, to] = [asset('ETH', 18), asset('USDC', 6)]
  const of = (amountOut: bigint, prices: readonly (string | null)[]) =>
    valueDifferenceBps({ from, to, amountIn: 10n ** 18n, amountOut, prices })
  t.equal(of(3_000_000_000n, ['3000', '1']), 0)
  t.equal(of(2_999_999_999n, ['3000', '1']), 1, 'one unit less')
  t.equal(of(3_000_000_001n, ['3000', '1']), 0, 'one unit more')
  t.equal(of(2_970_000_000n, ['3000.5', '1.0001']), 101)
  t.equal(of(3_030_000_000n, ['3000', '1']), -100)
  t.equal(of(3_000_000_000n, [null, '1']), null)
  t.equal(of(3_000_000_000n, ['3000', '0']), null, 'a price of 0 says nothing')
  t.end()
})

function pool(venue: Venue, tokens: readonly [string, string], depth: bigint, feePpm = 3_000): LivingPool {
  const address = `0x${venue.name}${tokens[0].slice(2, 4)}${tokens[1].slice(2, 4)}${depth}`
  return { venue, address, tokens, feePpm, price: { in: 1n, out: 1n }, depth }
}

t.test('candidates are direct, and over the wrapped token and the hop tokens of one exchange', (t) => {
  const living = [
    pool(V3, [B, C], 5n),
    pool(V3, [A, B], 1n),
    pool(V3, [A, B], 3n, 500),
    pool(V3, [A, B], 2n, 10_000),
    pool(V3, [A, C], 9n),
    pool(V2, [A, B], 9n),
  ]
  const found = candidatesOf({ ...MARKET, hops: [] }, living, [B, C])
  t.strictSame(
    found.map(({ venue, hops }) => [venue.name, ...hops.map(({ pool: address }) => address)]),
    [
      ['three', '0xthree22335'],
      ['three', '0xthree11223', '0xthree11339'],
      ['three', '0xthree11222', '0xthree11339'],
    ],
    'the deepest two pools of a hop; V2 has no second hop here',
  )
  t.strictSame(
    found[1]?.hops.map(({ from, to }) => [from, to]),
    [
      [B, A],
      [A, C],
    ],
  )
  t.end()
})

function quoted(venue: Venue, tag: string, amountIn: bigint, amountOut: bigint): QuotedPath {
  const hop = { from: A, to: B, pool: tag, feePpm: 500, price: { in: 1n, out: 1n } }
  return { venue, hops: [hop], amountIn, amountOut, quotedGas: null }
}

const CHOICE = {
  amountType: 'exact_input',
  amount: 1_000n,
  slippageBps: 100,
  native: null,
  gasPrice: 0n,
  gasValue: null,
  rules: OSAKA,
} as const

t.test('the best route gives most after its gas', (t) => {
  const quotes = [quoted(V3, 'p', 1_000n, 999n), quoted(V2, 'q', 1_000n, 998n)]
  const best = (gas: bigint) =>
    optionsOf(quotes, { ...CHOICE, gasPrice: gas, gasValue: { in: 100_000n, out: 10n } })[0]?.route.venue
  t.equal(best(0n), 'three')
  t.equal(best(1n), 'two', 'V3 uses 27,000 gas more')
  const least = optionsOf([quoted(V3, 'p', 1_003n, 1_000n), quoted(V2, 'q', 1_002n, 1_000n)], {
    ...CHOICE,
    amountType: 'exact_output',
  })
  t.equal(least[0]?.route.venue, 'two', 'an exact output takes least')
  t.equal(least[0]?.route.legs[0]?.limit, '1012')
  t.end()
})

t.test('a split has parts that add up, share no pool, and have a bound each', (t) => {
  const quotes = [
    quoted(V3, 'p', 1_000n, 900n),
    quoted(V3, 'q', 1_000n, 880n),
    quoted(V3, 'p', 750n, 720n),
    quoted(V3, 'q', 250n, 245n),
    quoted(V3, 'p', 250n, 248n),
    quoted(V3, 'q', 500n, 480n),
  ]
  const [best] = optionsOf(quotes, CHOICE)
  t.strictSame(
    best?.route.legs.map(({ amountIn, amountOut, limit }) => [amountIn, amountOut, limit]),
    [
      ['750', '720', '713'],
      ['250', '245', '243'],
    ],
  )
  const dear = optionsOf(quotes, { ...CHOICE, gasPrice: 1n, gasValue: { in: 1_000n, out: 1n } })
  t.equal(dear[0]?.route.legs.length, 1, 'not where it costs more gas than it wins')
  fc.assert(
    fc.property(amounts, (amount) => {
      const candidates = ['p', 'q'].map((tag) => ({ venue: V3, hops: quoted(V3, tag, 1n, 1n).hops }))
      const asked = partsOf(candidates, { amount, amountType: 'exact_input' }).map((one) => one.amount)
      return asked.every((part) => part > 0n && (part === amount || asked.includes(amount - part)))
    }),
  )
  t.end()
})
