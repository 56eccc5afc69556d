/** The exchanges of a chain, checked on chain at their first use: a wrong one is off, a node that is down is not wrong. */

import { createRequire } from 'node:module'
import t, { type Test } from 'tap'
import { toChecksumAddress } from '../../src/chain/address.ts'
import { createForkWatch } from '../../src/chain/fork-watch.ts'
import { createRpcClient } from '../../src/chain/rpc-client.ts'
import { loadConfig } from '../../src/compose/load-config.ts'
import { setUpChain } from '../../src/sandbox/chain-setup.ts'
import type { VenueSettings } from '../../src/swaps/exchange-settings.ts'
import { createMarkets } from '../../src/swaps/markets.ts'
import { withAnvil } from '../support/anvil.ts'
import { PRODUCTION } from '../support/config.ts'
import { type ExchangeChain, withExchanges } from '../support/exchanges.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { ALICE, mined } from '../support/swap-stage.ts'

const CHAIN = { network: 'ethereum', environment: 'mainnet', chainId: 1_000_001 } as const
const NOBODY = '0x00000000000000000000000000000000000000fa'
const MINUTE = 60_000
const QUOTER = '@uniswap/swap-router-contracts/artifacts/contracts/lens/QuoterV2.sol/QuoterV2.json'

async function withMarkets(t: Test, url: string, env: ExchangeChain['env']) {
  const [settings] = loadConfig({ ...PRODUCTION, ...env }).chains
  if (settings?.swaps === undefined) throw new Error('no exchanges are configured')
  const { swaps } = settings
  const log = { warn: () => undefined, info: () => undefined, error: () => undefined }
  let now = 0
  const client = createRpcClient({ urls: [url], chainId: CHAIN.chainId, timeoutMs: 60_000, now: () => now, log })
  t.teardown(client.close)
  const forks = createForkWatch({ client, chain: CHAIN, now: () => now, log })
  return {
    swaps,
    pass: (ms: number) => {
      now += ms
    },
    /** The markets with other settings of the exchanges. */
    with: (venues: readonly VenueSettings[], wrappedNative = swaps.wrappedNative) =>
      createMarkets({
        chainOf: () => ({
          agreed: client.agreed,
          forks,
          settings: { ...settings, swaps: { ...swaps, venues, wrappedNative } },
        }),
        now: () => now,
      }),
  }
}

/** A real QuoterV2 of a factory that takes any token for the wrapped native one. */
async function deployQuoter(url: string, factory: string, wrapped: string): Promise<string> {
  const { bytecode } = createRequire(import.meta.url)(QUOTER)
  const words = [factory, wrapped].map((address) => address.slice(2).toLowerCase().padStart(64, '0'))
  const { contractAddress } = await mined(url, { from: ALICE, data: bytecode + words.join('') })
  return toChecksumAddress(contractAddress ?? '')
}

t.test('the exchanges of the sandbox can be used', async (t) => {
  const chain = await withExchanges(t)
  const stage = await withMarkets(t, chain.url, chain.env)
  const markets = stage.with(stage.swaps.venues)
  const market = await markets.marketOf(CHAIN)
  matchExactly(t, market, {
    wrapped: chain.contracts.wrappedNative,
    hops: [chain.contracts.usdc, chain.contracts.usdt],
  })
  matchExactly(t, market.venues, [
    { name: 'uniswap-v3', factory: chain.exchanges.v3Factory, tiers: [500, 3_000, 10_000] },
    { name: 'uniswap-v2', factory: chain.exchanges.v2Factory },
  ])
  t.equal(markets.problem(), null)
})

t.test('each wrong exchange is off and named, and the others stay', async (t) => {
  const chain = await withExchanges(t)
  const { contracts, exchanges } = chain
  const stage = await withMarkets(t, chain.url, chain.env)
  const [v3, v2] = stage.swaps.venues
  if (v3 === undefined || v2 === undefined) throw new Error('two exchanges were expected')
  const otherWrap = await deployQuoter(chain.url, exchanges.v3Factory, contracts.usdc)
  const wrong: readonly [VenueSettings, RegExp][] = [
    [{ ...v2, name: 'no-code', router: NOBODY, quoter: NOBODY }, /no-code: its router .* is no v2 router/],
    [{ ...v2, name: 'a-token', router: contracts.usdc }, /a-token: its router .* is no v2 router/],
    [{ ...v2, name: 'v3-as-v2', router: exchanges.swapRouter }, /v3-as-v2: /],
    [{ ...v3, name: 'v2-as-v3', router: exchanges.v2Router }, /v2-as-v3: /],
    [{ ...v3, name: 'no-quoter', quoter: NOBODY }, /no-quoter: its quoter .* is not of the factory/],
    [{ ...v3, name: 'other-quoter', quoter: exchanges.v2Router }, /other-quoter: its quoter .* is not of the factory/],
    [{ ...v3, name: 'other-wrap', quoter: otherWrap }, /other-wrap: its quoter .* wraps as .*, and its router as /],
  ]
  for (const [venue, problem] of wrong) {
    const markets = stage.with([venue, v2])
    const { venues } = await markets.marketOf(CHAIN)
    t.strictSame(
      venues.map(({ name }) => name),
      [v2.name],
    )
    t.match(markets.problem(), problem)
  }
  const alone = stage.with([v3, v2], contracts.usdc)
  await t.rejects(alone.marketOf(CHAIN), { code: 'swap_venues_unusable' })
  t.match(alone.problem(), /uniswap-v3: its router wraps as .*; .*uniswap-v2: its router wraps as /)
})

t.test('an exchange that was missing is used after it is deployed', async (t) => {
  const { env } = await withExchanges(t)
  const { url } = await withAnvil(t, { mining: 'call' })
  // Without Multicall3, each read is a call of its own.
  const stage = await withMarkets(t, url, { ...env, ETHEREUM_MULTICALL3_ADDRESS: '' })
  const markets = stage.with(stage.swaps.venues)
  await t.rejects(markets.marketOf(CHAIN), { code: 'swap_venues_unusable' })
  await setUpChain(url, 'ethereum')
  await t.rejects(markets.marketOf(CHAIN), { code: 'swap_venues_unusable' }, 'it is not asked for at every request')
  stage.pass(MINUTE)
  t.equal((await markets.marketOf(CHAIN)).venues.length, 2)
  t.equal(markets.problem(), null)
})

t.test('a node that is down is not a wrong exchange', async (t) => {
  const { env, url, stop } = await withExchanges(t)
  const stage = await withMarkets(t, url, env)
  await stop()
  const markets = stage.with(stage.swaps.venues)
  await t.rejects(markets.marketOf(CHAIN), { code: 'rpc_unavailable' })
  t.equal(markets.problem(), null)
})
t.end()
