/** What a quote says about the price of its route. */
import t from 'tap'
import { ValidationFailed } from '../../src/core/errors.ts'
import type { PoolRoute } from '../../src/swaps/events.ts'
import { fairPrice, feedPrice } from '../../src/swaps/feeds.ts'
import type { FoundRoute } from '../../src/swaps/find-route.ts'
import { priceIssueOf } from '../../src/swaps/price-issue.ts'
import { requireFeeds } from '../../src/swaps/refusals.ts'

const [X, WETH, USDC] = ['0xaa', '0xbb', '0xcc'].map((start) => start.padEnd(42, '0')) as [string, string, string]
const PRICES = new Map([
  [WETH, feedPrice('3000', 18)],
  [USDC, feedPrice('1', 6)],
])
const feeds = (token: string) => PRICES.get(token) ?? null

/** X to USDC over WETH. @param usdc whole ones for one WETH, in the pool */
function routeOver(usdc: bigint): FoundRoute {
  const hops = [
    { from: X, to: WETH, pool: '0x1', feePpm: 3_000, price: { in: 3_000n, out: 1n } },
    { from: WETH, to: USDC, pool: '0x2', feePpm: 500, price: { in: 10n ** 12n, out: usdc } },
  ]
  const leg = { kind: 'v3' as const, hops, amountIn: '1', amountOut: '1', limit: '1' }
  const route: PoolRoute = {
    type: 'pools',
    venue: 'v3',
    router: { kind: 'v3', address: X },
    amountType: 'exact_input',
    native: null,
    legs: [leg],
  }
  const legs = [{ hops, amountIn: 1n, amountOut: 1n }]
  return { route, legs, gas: 1n, priceImpactBps: 0, lpFeeBps: 0 }
}

/** Of X to USDC at the spot of the route, after its fees. */
const RATE = 1e-12 * 0.997 * 0.9995
const facts = (change: object) => ({
  chosen: routeOver(3_000n),
  found: { bestRate: RATE, isComplete: true },
  feeds,
  valueDifferenceBps: 20,
  ...change,
})

t.test('a route at the prices of the feeds has no issue', (t) => {
  t.equal(priceIssueOf(facts({})), null)
  t.equal(
    priceIssueOf(facts({ chosen: { ...routeOver(1n), route: { type: 'wrap', contract: WETH, amount: '1' } } })),
    null,
  )
  t.end()
})

t.test('a hop whose pool differs from the feeds is told, also where the whole swap has no feed', (t) => {
  const issue = { code: 'differs_from_feeds', differenceBps: 400 }
  t.match(priceIssueOf(facts({ chosen: routeOver(2_880n), valueDifferenceBps: null })), issue)
  t.match(priceIssueOf(facts({ chosen: routeOver(3_125n), valueDifferenceBps: null })), issue, 'above as below')
  t.match(priceIssueOf(facts({ valueDifferenceBps: 301 })), { code: 'differs_from_feeds', differenceBps: 301 })
  t.end()
})

t.test('another path with a much better price is told', (t) => {
  const issue = priceIssueOf(facts({ found: { bestRate: RATE * 1.25, isComplete: true }, valueDifferenceBps: null }))
  t.match(issue, { code: 'pools_disagree', differenceBps: 2_000 })
  t.equal(priceIssueOf(facts({ found: { bestRate: RATE * 1.02, isComplete: true } })), null)
  t.end()
})

t.test('without a feed the quote says so, and that pools did not answer', (t) => {
  t.match(priceIssueOf(facts({ valueDifferenceBps: null })), { code: 'no_feed', differenceBps: null })
  const found = { bestRate: RATE, isComplete: false }
  t.match(priceIssueOf(facts({ valueDifferenceBps: null, found })), { code: 'pools_unanswered' })
  t.equal(priceIssueOf(facts({ found })), null, 'the feeds agree with the route')
  t.end()
})

function refused(act: () => void): unknown {
  try {
    act()
    return null
  } catch (error) {
    return error instanceof ValidationFailed ? error.items[0] : error
  }
}

t.test('an installation can refuse swaps of assets without a feed, but not wraps', (t) => {
  const asset = (symbol: string, contract: string | null) => ({ assetId: symbol, symbol, decimals: 18, contract })
  const [eth, weth, x] = [asset('ETH', null), asset('WETH', WETH), asset('X', X)]
  t.match(
    refused(() => requireFeeds({ from: x, to: eth }, WETH, [null, '3000'])),
    {
      code: 'no_price_feed',
      field: 'from_asset',
    },
  )
  t.match(
    refused(() => requireFeeds({ from: eth, to: x }, WETH, ['3000', null])),
    { field: 'to_asset' },
  )
  t.doesNotThrow(() => requireFeeds({ from: eth, to: weth }, WETH, ['3000', null]))
  t.end()
})

t.test('the price of gas is that of two feeds, or unknown', (t) => {
  t.strictSame(fairPrice(feeds, WETH, USDC), { out: 3_000n * 10n ** 6n, in: 10n ** 18n })
  t.equal(fairPrice(feeds, WETH, X), null)
  t.strictSame(fairPrice(feeds, WETH, WETH), { in: 1n, out: 1n })
  t.end()
})
