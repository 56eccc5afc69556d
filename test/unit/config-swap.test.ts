/** The settings of swaps: exchanges, the wrapped native token, and tokens that routes pass through. */
import t from 'tap'
import { parseAddress } from '../../src/chain/address.ts'
import { loadConfig } from '../../src/compose/load-config.ts'
import type { Environ } from '../../src/config.ts'
import { ENVIRONMENTS, NETWORKS } from '../../src/core/networks.ts'
import { PUBLIC_EXCHANGES } from '../../src/swaps/exchange-settings.ts'
import { PRODUCTION, problemsOf } from '../support/config.ts'
import { matchExactly } from '../support/match-exactly.ts'

const ROUTER = '0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D'
const ROUTER_02 = '0x68b3465833fb72A70ecDF485E0e4C7bD8665Fc45'
const QUOTER = '0x61fFE014bA17989E743c5F6cB21bF9697530B21e'
const WETH = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2'
const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'

/** A private chain, which has no defaults. */
const PRIVATE = { ...PRODUCTION, ETHEREUM_CHAIN_ID: '31337', ETHEREUM_WRAPPED_NATIVE: WETH }

function swapsOf(env: Environ) {
  return loadConfig(env).chains[0]?.swaps
}

t.test('exchanges are read with their kind, their addresses and their fee tiers', (t) => {
  const venues = `two:v2:${ROUTER}, three:v3:${ROUTER_02}:${QUOTER},few:v3:${ROUTER_02}:${QUOTER}:500+2500+500`
  t.strictSame(swapsOf({ ...PRIVATE, ETHEREUM_SWAP_VENUES: venues, ETHEREUM_SWAP_HOPS: USDC.toLowerCase() }), {
    venues: [
      { name: 'two', router: ROUTER, kind: 'v2', quoter: ROUTER, tiers: [] },
      { name: 'three', router: ROUTER_02, kind: 'v3', quoter: QUOTER, tiers: [100, 500, 3_000, 10_000] },
      { name: 'few', router: ROUTER_02, kind: 'v3', quoter: QUOTER, tiers: [500, 2_500] },
    ],
    wrappedNative: WETH,
    hops: [USDC],
  })
  t.end()
})

t.test('a quote can be used for 30 seconds, and a request may accept 50 % of slippage, unless set', (t) => {
  t.strictSame(loadConfig(PRODUCTION).swap, { quoteTtlMs: 30_000, maxSlippageBps: 5_000, requireFeeds: false })
  const set = { ...PRODUCTION, SWAP_QUOTE_TTL_MS: '5000', SWAP_MAX_SLIPPAGE_BPS: '100', SWAP_REQUIRE_FEEDS: 'true' }
  t.strictSame(loadConfig(set).swap, { quoteTtlMs: 5_000, maxSlippageBps: 100, requireFeeds: true })
  matchExactly(t, problemsOf({ ...PRODUCTION, SWAP_MAX_SLIPPAGE_BPS: '5001' }), [
    /^SWAP_MAX_SLIPPAGE_BPS must be a whole/,
  ])
  matchExactly(t, problemsOf({ ...PRODUCTION, SWAP_QUOTE_TTL_MS: '10' }), [/^SWAP_QUOTE_TTL_MS must be a whole number/])
  t.end()
})

t.test('a wrong exchange stops the start with the rule', (t) => {
  const wrong = [
    `two:${ROUTER}`,
    `two:v4:${ROUTER}`,
    `:v2:${ROUTER}`,
    `Two:v2:${ROUTER}`,
    `two:v2:${ROUTER}:500`,
    `two:v2:${ROUTER.slice(0, -1)}`,
    `three:v3:${ROUTER_02}`,
    `three:v3:${ROUTER_02}:${QUOTER}:`,
    `three:v3:${ROUTER_02}:${QUOTER}:0`,
    `three:v3:${ROUTER_02}:${QUOTER}:500/3000`,
    Array.from({ length: 7 }, (_, n) => `number-${n}:v2:${ROUTER}`).join(','),
  ]
  for (const venues of wrong) {
    const problems = problemsOf({ ...PRIVATE, ETHEREUM_SWAP_VENUES: venues })
    matchExactly(
      t,
      problems,
      [/^ETHEREUM_SWAP_VENUES must be none or a comma-separated list of at most 6 exchanges/],
      venues,
    )
  }
  const hops = Array.from({ length: 7 }, () => USDC).join(',')
  matchExactly(t, problemsOf({ ...PRIVATE, ETHEREUM_SWAP_HOPS: hops }), [
    /^ETHEREUM_SWAP_HOPS must be .* at most 6 addresses/,
  ])
  t.end()
})

t.test('an altered address, a name used twice and a missing wrapped token are named', (t) => {
  const altered = ROUTER.replace('D', 'd')
  const problem = (env: Environ) => problemsOf({ ...PRIVATE, ETHEREUM_SWAP_VENUES: `two:v2:${ROUTER}`, ...env })
  matchExactly(t, problem({ ETHEREUM_SWAP_VENUES: `two:v2:${altered}` }), [/^ETHEREUM_SWAP_VENUES .*checksum/])
  matchExactly(t, problem({ ETHEREUM_SWAP_HOPS: USDC.replace('A', 'a') }), [/^ETHEREUM_SWAP_HOPS .*checksum/])
  matchExactly(t, problem({ ETHEREUM_WRAPPED_NATIVE: WETH.replace('C', 'c') }), [/^ETHEREUM_WRAPPED_NATIVE .*checksum/])
  t.strictSame(problem({ ETHEREUM_SWAP_VENUES: `two:v2:${ROUTER},two:v3:${ROUTER_02}:${QUOTER}` }), [
    'ETHEREUM_SWAP_VENUES must not use a name twice',
  ])
  t.strictSame(problem({ ETHEREUM_WRAPPED_NATIVE: undefined }), [
    'ETHEREUM_WRAPPED_NATIVE must be set if ETHEREUM_SWAP_VENUES is set',
  ])
  t.end()
})

t.test('public chains have exchanges, private ones and Amoy have none', (t) => {
  const swaps = swapsOf(PRODUCTION)
  t.strictSame(
    swaps?.venues.map(({ name }) => name),
    ['uniswap-v3', 'uniswap-v2', 'sushiswap-v2'],
  )
  t.equal(swaps?.wrappedNative, WETH)
  const own = swapsOf({ ...PRODUCTION, ETHEREUM_SWAP_VENUES: `two:v2:${ROUTER}` })
  matchExactly(t, own, { venues: [{ name: 'two' }], wrappedNative: WETH, hops: swaps?.hops })
  t.equal(swapsOf(PRIVATE), undefined)
  t.equal(swapsOf({ ...PRODUCTION, ETHEREUM_SWAP_VENUES: 'none' }), undefined)
  t.strictSame(problemsOf({ ...PRODUCTION, ETHEREUM_SWAP_VENUES: `none,two:v2:${ROUTER}` }), [
    'ETHEREUM_SWAP_VENUES must not name exchanges beside none',
  ])
  t.equal(PUBLIC_EXCHANGES.testnet.polygon, undefined)
  t.end()
})

t.test('each public address has its checksum, and each name stands once', (t) => {
  for (const environment of ENVIRONMENTS) {
    for (const network of NETWORKS) {
      const swaps = PUBLIC_EXCHANGES[environment][network]
      if (swaps === undefined) continue
      const { venues, wrappedNative, hops } = swaps
      t.equal(new Set(venues.map(({ name }) => name)).size, venues.length)
      for (const address of [wrappedNative, ...hops, ...venues.flatMap(({ router, quoter }) => [router, quoter])])
        t.equal(parseAddress(address, 'address'), address, `${network} ${environment}`)
    }
  }
  t.end()
})

t.test('private relays are read, and wrong ones stop the start without being shown', (t) => {
  const relays = (env: Environ) => loadConfig({ ...PRIVATE, ...env }).chains[0]?.relayUrls
  t.equal(relays({}), undefined)
  t.strictSame(relays({ ETHEREUM_SWAP_RPC_URLS: 'https://one.example/key, https://two.example' }), [
    'https://one.example/key',
    'https://two.example',
  ])
  const problems = problemsOf({ ...PRIVATE, ETHEREUM_SWAP_RPC_URLS: 'wss://hunter2' })
  matchExactly(t, problems, [/^ETHEREUM_SWAP_RPC_URLS must be a comma-separated list of http/])
  t.notMatch(problems.join(), /hunter2/)
  t.end()
})

t.test('a hosted source needs a key and pinned contracts', (t) => {
  const url = 'https://api.0x.org'
  const venues = { ...PRIVATE, ETHEREUM_SWAP_VENUES: `two:v2:${ROUTER}` }
  const pins = { ETHEREUM_SWAP_API_TARGETS: ROUTER, ETHEREUM_SWAP_API_SPENDERS: `${ROUTER_02},${ROUTER}` }
  const whole = { ...venues, ...pins, SWAP_API_URL: url, SWAP_API_KEY: 'k' }
  t.strictSame(loadConfig(whole).swapSource, { url, key: 'k' })
  t.strictSame(swapsOf(whole)?.source, { targets: [ROUTER], spenders: [ROUTER_02, ROUTER] })
  t.equal(loadConfig(venues).swapSource, null)
  const missing = '<NET>_SWAP_API_TARGETS must be set for a chain with swaps if SWAP_API_URL is set'
  const cases: readonly [Environ, string][] = [
    [{ ...whole, SWAP_API_KEY: '' }, 'SWAP_API_KEY must be set if SWAP_API_URL is set'],
    [{ ...whole, SWAP_API_URL: '' }, 'SWAP_API_URL must be set if SWAP_API_KEY is set'],
    [{ ...venues, SWAP_API_URL: url, SWAP_API_KEY: 'k' }, missing],
    [
      { ...venues, ETHEREUM_SWAP_API_TARGETS: ROUTER },
      'ETHEREUM_SWAP_API_SPENDERS must be set if ETHEREUM_SWAP_API_TARGETS is set',
    ],
    [
      { ...venues, ETHEREUM_SWAP_API_SPENDERS: ROUTER },
      'ETHEREUM_SWAP_API_TARGETS must be set if ETHEREUM_SWAP_API_SPENDERS is set',
    ],
  ]
  for (const [env, problem] of cases) t.strictSame(problemsOf(env), [problem])
  for (const wrong of ['http://api.0x.org', 'https://user@api.0x.org', 'ftp://api.0x.org', 'https://api.0x.org/?a=b'])
    matchExactly(t, problemsOf({ ...whole, SWAP_API_URL: wrong }), [/^SWAP_API_URL must be an https:/])
  t.strictSame(problemsOf({ ...whole, SWAP_API_URL: 'http://127.0.0.1:8080/v2' }), [])
  const hidden = problemsOf({ ...whole, SWAP_API_KEY: 'se cret' })
  matchExactly(t, hidden, [/^SWAP_API_KEY must be the API key/])
  t.notMatch(hidden.join(), 'se cret')
  t.end()
})
