/** What stands in the way of quotes: settings that are missing, keys of others, limits, and a wallet without gas. */
import t, { type Test } from 'tap'
import { createIssueApiKey } from '../../src/access/issue-api-key.ts'
import { createClient, type Reply } from '../support/client.ts'
import { withExchanges } from '../support/exchanges.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { withDatabase } from '../support/postgres.ts'
import { type LocalService, withLocalService } from '../support/service-local.ts'

const BUY = { from_asset: 'ETH', to_asset: 'USDC', amount: '1' }

const chain = await withExchanges(t)

/** A service on this chain with other settings, and the id of a funded wallet. */
async function withService(t: Test, env: Readonly<Record<string, string>>) {
  const { url: databaseUrl } = await withDatabase(t)
  const service = await withLocalService(t, {
    databaseUrl,
    chainUrl: chain.url,
    chainId: chain.chainId,
    env: { ...chain.env, ...env },
  })
  const [wallet] = await service.makeWallets(1)
  if (wallet === undefined) throw new Error('one wallet is made')
  const post = (path: string, body: object, api = service.api): Promise<Reply> =>
    api.insist({ method: 'POST', path: `/v1/wallets/${wallet.id}${path}`, body })
  return { service, wallet, post }
}

async function keyOf(service: LocalService, tenantId: string, environment: 'mainnet' | 'testnet') {
  const { token } = await createIssueApiKey(service.kernel)({ tenantId, environment }, { actor: 'operator' })
  return createClient(service.baseUrl, token)
}

t.test('without exchanges every swap is refused, and the setting is named', async (t) => {
  const { post } = await withService(t, { ETHEREUM_SWAP_VENUES: 'none' })
  for (const path of ['/swap/quote', '/swap']) {
    const { status, body } = await post(path, BUY)
    t.equal(status, 422)
    t.match(body.errors?.[0], {
      field: 'wallet_id',
      code: 'swap_not_configured',
      message: /ETHEREUM_SWAP_VENUES/,
    })
  }
})

t.test('a wrong exchange is named in /readyz, and the service stays ready', async (t) => {
  const venues = `right:v2:${chain.exchanges.v2Router},wrong:v3:${chain.exchanges.swapRouter}:${chain.contracts.usdc}`
  const { service, post } = await withService(t, { ETHEREUM_SWAP_VENUES: venues })
  const { status, body } = await post('/swap/quote', BUY)
  t.equal(status, 200, JSON.stringify(body))
  matchExactly(t, body.data.route, [{ venue: 'right' }])
  const ready = await fetch(`${service.baseUrl}/readyz`)
  t.equal(ready.status, 200)
  t.match(await ready.text(), /exchanges are off: .*wrong: its quoter/)
})

t.test('a wrong address of Multicall3 is named in /readyz, and quotes go around it', async (t) => {
  const { service, post } = await withService(t, { ETHEREUM_MULTICALL3_ADDRESS: chain.contracts.usdc })
  const { status, body } = await post('/swap/quote', BUY)
  t.equal(status, 200, JSON.stringify(body))
  const ready = await fetch(`${service.baseUrl}/readyz`)
  t.equal(ready.status, 200)
  t.match(await ready.text(), new RegExp(`${chain.contracts.usdc} is no Multicall3 on this chain`))
})

t.test('a network without Multicall3 and price feeds is quoted, without a difference in value', async (t) => {
  const { post } = await withService(t, { ETHEREUM_MULTICALL3_ADDRESS: '', ETHEREUM_PRICE_FEEDS: '' })
  const { status, body } = await post('/swap/quote', BUY)
  t.equal(status, 200, JSON.stringify(body))
  matchExactly(t, body.data, { value_difference_bps: null, route: [{ fee_bps: 5 }], issues: { simulation: null } })
})

t.test('more quotes than the quota are refused with the time to wait', async (t) => {
  const { service, wallet } = await withService(t, { QUOTA_QUOTES_PER_SECOND: '1' })
  const path = `/v1/wallets/${wallet.id}/swap/quote`
  const ask = () => service.api.once({ method: 'POST', path, body: BUY })
  const replies: Reply[] = []
  // A slow machine may need more than a second for some of them.
  while (replies.length < 200 && !replies.some(({ status }) => status === 429))
    replies.push(...(await Promise.all(Array.from({ length: 5 }, ask))))
  const refused = replies.find(({ status }) => status === 429)
  matchExactly(t, refused?.body.errors, [{ code: 'quota_quotes_per_second' }])
  t.ok(Number(refused?.headers['retry-after']) >= 1)
  t.ok(replies.some(({ status }) => status === 200))
})

t.test('a quote is used by its own tenant and environment only', async (t) => {
  const { service, post } = await withService(t, {})
  const { quote_id } = (await post('/swap/quote', BUY)).body.data
  const others = [
    { api: await keyOf(service, 'globex', 'mainnet'), status: 404, code: 'wallet_not_found' },
    { api: await keyOf(service, 'acme', 'testnet'), status: 403, code: 'environment_mismatch' },
  ]
  for (const { api, status, code } of others) {
    matchExactly(t, await post('/swap', { quote_id }, api), { status, body: { errors: [{ code }] } })
    matchExactly(t, await post('/swap/quote', BUY, api), { status, body: { errors: [{ code }] } })
  }
})

t.test('the bounds of a request are exact, and an exact output of a wrap has no slippage', async (t) => {
  const { post } = await withService(t, { QUOTA_QUOTES_PER_SECOND: '1000' })
  const { wrappedNative, usdc } = chain.contracts
  const largest = { amount: (2n ** 128n).toString(), from_asset: 'USDC', to_asset: 'ETH' }
  const cases: readonly [object, string | null, string | null][] = [
    [{ deadline_seconds: 59 }, 'deadline_seconds', 'too_small'],
    [{ deadline_seconds: 60, slippage_bps: 5_000 }, null, null],
    [{ deadline_seconds: 86_401 }, 'deadline_seconds', 'too_large'],
    [{ deadline_seconds: 86_400, slippage_bps: 0 }, null, null],
    [{ slippage_bps: 5_001 }, 'slippage_bps', 'too_large'],
    [{ from_asset: usdc, to_asset: 'USDC' }, 'to_asset', 'same_asset'],
    [{ from_asset: wrappedNative, to_asset: 'WETH' }, 'to_asset', 'same_asset'],
    [largest, 'amount', 'amount_too_large'],
  ]
  for (const [change, field, code] of cases) {
    const { status, body } = await post('/swap/quote', { ...BUY, ...change })
    t.equal(status, code === null ? 200 : 422, JSON.stringify(change))
    if (code !== null) t.match(body.errors?.[0], { field, code }, JSON.stringify(change))
  }
  const wrap = { from_asset: 'ETH', to_asset: 'WETH', amount: '2', amount_type: 'exact_output' }
  t.match((await post('/swap/quote', wrap)).body.data, {
    from_amount: '2',
    to_amount: '2',
    max_from_amount: '2',
    price_impact_bps: 0,
    lp_fee_bps: 0,
  })
})

t.end()
