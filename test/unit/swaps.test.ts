/** The figures of swaps: bounds, price impact, and the choice of a route. */

import fc from 'fast-check'
import t from 'tap'
import { maximumIn, minimumOut } from '../../src/swaps/bounds.ts'
import { candidatesOf } from '../../src/swaps/candidates.ts'
import { optionsOf } from '../../src/swaps/choose.ts'
import { curveOf } from '../../src/swaps/curve.ts'
import type { AskedEdge } from '../../src/swaps/edges.ts'
import { AMOUNT_TYPES } from '../../src/swaps/events.ts'
import { lpFeeBps, type PricedLeg, priceImpactBps } from '../../src/swaps/impact.ts'
import type { Market, Venue } from '../../src/swaps/market.ts'
import { plansOf } from '../../src/swaps/plan-routes.ts'
import type { QuotedPath } from '../../src/swaps/quote-paths.ts'
import { amountsOf } from '../../src/swaps/route.ts'
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

function edge(venue: Venue, [from, to]: readonly [string, string], given: bigint, feePpm = 3_000): AskedEdge {
  const address = `0x${venue.name}${from.slice(2, 4)}${to.slice(2, 4)}${given}`
  const points = given === 0n ? [] : [{ amountIn: 1_000n, amountOut: given }]
  const price = { in: 1n, out: 1n }
  const pool = { venue, address, tokens: [from, to] as const, feePpm }
  return { pool, from, to, stage: 0, price, points, curve: curveOf(1, points, true), isKnown: true }
}

t.test('candidates are direct, and over the wrapped token and the hop tokens of one exchange', (t) => {
  const edges = [
    edge(V3, [B, C], 900n),
    edge(V3, [B, A], 1n),
    edge(V3, [B, A], 3n, 500),
    edge(V3, [B, A], 0n, 10_000),
    edge(V3, [A, C], 9n),
    edge(V2, [B, A], 9n),
  ]
  const found = candidatesOf({ ...MARKET, hops: [] }, edges, [B, C])
  t.strictSame(
    found.map(({ venue, hops }) => [venue.name, ...hops.map(({ pool: address }) => address)]),
    [
      ['three', '0xthree2233900'],
      ['three', '0xthree22111', '0xthree11339'],
      ['three', '0xthree22113', '0xthree11339'],
    ],
    'every pool of a hop that gives something; V2 has no second hop here',
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

t.test(
  'a curve meets its points, bends between them, and gives nothing beyond the last one that a pool can exchange',
  (t) => {
    const reserves = [10n ** 24n, 10n ** 24n] as const
    const points = [1n, 4n, 16n].map((part) => {
      const amountIn = part * 10n ** 22n
      return { amountIn, amountOut: swapIn(amountIn, reserves, 0) }
    })
    const [whole, part] = [curveOf(1, points, true), curveOf(1, points, false)]
    for (const { amountIn, amountOut } of points) {
      t.ok(Math.abs(whole.out(Number(amountIn)) / Number(amountOut) - 1) < 1e-9)
      t.ok(Math.abs(whole.in(Number(amountOut)) / Number(amountIn) - 1) < 1e-9)
    }
    const between = 9n * 10n ** 22n
    t.ok(
      Math.abs(whole.out(Number(between)) / Number(swapIn(between, reserves, 0)) - 1) < 1e-6,
      'as the pool computes it',
    )
    t.ok(whole.out(1.7e23) > whole.out(1.6e23))
    t.equal(whole.out(2e23), 0, 'nothing is expected far beyond')
    t.equal(part.out(2e23), 0)
    t.equal(part.in(2e23), Number.POSITIVE_INFINITY)
    t.end()
  },
)

function quoted(venue: Venue, tag: string, amountIn: bigint, amountOut: bigint): QuotedPath {
  const hop = { from: A, to: B, pool: tag, feePpm: 500, price: { in: 1n, out: 1n } }
  return { venue, hops: [hop], amountIn, amountOut, quotedGas: null }
}

function alone(quotes: readonly QuotedPath[]) {
  return quotes.map((quote) => ({ router: quote.venue, legs: [quote] }))
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
    optionsOf(alone(quotes), { ...CHOICE, gasPrice: gas, gasValue: { in: 100_000n, out: 10n } })[0]?.route.venue
  t.equal(best(0n), 'three')
  t.equal(best(1n), 'two', 'V3 uses 27,000 gas more')
  const least = optionsOf(alone([quoted(V3, 'p', 1_003n, 1_000n), quoted(V2, 'q', 1_002n, 1_000n)]), {
    ...CHOICE,
    amountType: 'exact_output',
  })
  t.equal(least[0]?.route.venue, 'two', 'an exact output takes least')
  t.equal(least[0]?.route.legs[0]?.limit, '1012')
  t.end()
})

t.test('a split has a bound for each part, and competes with whole paths net of gas', (t) => {
  const whole = [quoted(V3, 'p', 1_000n, 900n), quoted(V3, 'q', 1_000n, 880n)]
  const split = { router: V3, legs: [quoted(V3, 'p', 750n, 720n), quoted(V3, 'q', 250n, 245n)] }
  const [best] = optionsOf([...alone(whole), split], CHOICE)
  t.strictSame(
    best?.route.legs.map(({ amountIn, amountOut, limit }) => [amountIn, amountOut, limit]),
    [
      ['750', '720', '713'],
      ['250', '245', '243'],
    ],
  )
  const dear = optionsOf([...alone(whole), split], { ...CHOICE, gasPrice: 1n, gasValue: { in: 1_000n, out: 1n } })
  t.equal(dear[0]?.route.legs.length, 1, 'not where it costs more gas than it wins')
  t.end()
})

t.test('gas outweighs no more than its own difference', (t) => {
  fc.assert(
    fc.property(
      amounts,
      amounts,
      fc.bigInt({ min: 0n, max: 10n ** 12n }),
      amounts,
      (first, second, gasPrice, value) => {
        const choice = { ...CHOICE, gasPrice, gasValue: { in: 10n ** 18n, out: value } }
        const options = optionsOf(alone([quoted(V3, 'p', 1_000n, first), quoted(V2, 'q', 1_000n, second)]), choice)
        const [best, other] = options.map(({ route, gas }) => ({ out: amountsOf(route).amountOut, gas }))
        if (best === undefined || other === undefined) return false
        const saved = (other.gas - best.gas) * gasPrice * value
        return (other.out - best.out) * 10n ** 18n <= (saved > 0n ? saved : 0n) + 10n ** 18n
      },
    ),
  )
  t.end()
})

const amountsToSplit = fc.bigInt({ min: 1n, max: 10n ** 30n })

t.test('the parts of every plan add up to the amount, and share no pool', (t) => {
  const edges = [edge(V3, [B, C], 900n), edge(V3, [B, C], 880n, 500), edge(V3, [B, A], 950n), edge(V3, [A, C], 950n)]
  const candidates = candidatesOf(MARKET, edges, [B, C])
  fc.assert(
    fc.property(amountsToSplit, fc.constantFrom(...AMOUNT_TYPES), (amount, amountType) =>
      plansOf(candidates, { amount, amountType, costOf: null }).every(({ legs }) => {
        const pools = legs.flatMap(({ candidate }) => candidate.hops.map(({ pool }) => pool))
        const isWhole = legs.reduce((sum, leg) => sum + leg.amount, 0n) === amount
        return isWhole && legs.every((leg) => leg.amount > 0n) && new Set(pools).size === pools.length
      }),
    ),
  )
  t.ok(
    plansOf(candidates, { amount: 5_000n, amountType: 'exact_input', costOf: null }).some(
      ({ legs }) => legs.length > 1,
    ),
  )
  t.end()
})
