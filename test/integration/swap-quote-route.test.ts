/** `POST /v1/wallets/{wallet_id}/swap/quote` on a running service with real exchanges. */
import t from 'tap'
import { type Client, createClient, type Reply } from '../support/client.ts'
import { withExchanges } from '../support/exchanges.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { type Stage, withStage } from '../support/service-stage.ts'

const UNKNOWN = 'wal_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'
const STRANGER = '0x90F79bf6EB2c4f870365E785982E1f101E93b906'
const DECIMAL = /^\d+(\.\d+)?$/

const chain = await withExchanges(t)
const stage: Stage = await withStage(t, {
  chain: async () => chain,
  env: { ...chain.env, SWAP_MAX_SLIPPAGE_BPS: '1000', QUOTA_QUOTES_PER_SECOND: '1000' },
})
const { api, pool } = stage.service
const [wallet = { id: '', address: '' }] = await stage.service.makeWallets(1)

const BUY = { from_asset: 'ETH', to_asset: 'USDC', amount: '1.5' }

function ask(body: object, walletId = wallet.id, client: Client = api): Promise<Reply> {
  return client.insist({ method: 'POST', path: `/v1/wallets/${walletId}/swap/quote`, body })
}

t.test('a quote shows what a swap does, costs and needs, and is kept for half a minute', async (t) => {
  const before = Date.now()
  const { status, body } = await ask(BUY)
  t.equal(status, 200, JSON.stringify(body))
  matchExactly(t, body.data, {
    quote_id: /^quo_/,
    wallet_id: wallet.id,
    from_asset: 'ETH',
    to_asset: 'USDC',
    amount_type: 'exact_input',
    from_amount: '1.5',
    to_amount: /^44\d\d\.\d+$/,
    min_to_amount: /^44\d\d(\.\d+)?$/,
    max_from_amount: null,
    price: /^29\d\d\.\d+$/,
    slippage_bps: 50,
    max_price_impact_bps: 300,
    deadline_seconds: 600,
    lp_fee_bps: 5,
    value_difference_bps: Number,
    route: [{ venue: String, protocol: 'v3', contract: chain.exchanges.swapRouter, fee_bps: 5, share_bps: 10_000 }],
    fee: { currency: 'ETH', approval: '0', swap: DECIMAL, max: DECIMAL },
    approval: { needed: false, spender: null, amount: '0', reset_first: false },
    issues: { allowance: null, balance: null, simulation: null, price_impact: null },
    block_number: Number,
  })
  t.equal(body.data.route[0].hops.length, 1)
  const { value_difference_bps: lost } = body.data
  t.ok(lost >= 5 && lost < 15, `the loss against the feeds is the fee and a little impact: ${lost} bps`)
  const left = Date.parse(body.data.expires_at) - before
  t.ok(left >= 29_000 && left <= 60_000, `${left} ms`)
  const { rows } = await pool.query('SELECT * FROM swap_quotes WHERE quote_id = $1', [body.data.quote_id])
  matchExactly(t, rows, [{ tenant_id: 'acme', wallet_id: wallet.id, quote: { terms: { slippageBps: 50 } } }])
  const { rows: events } = await pool.query(`SELECT FROM events WHERE stream_id LIKE 'swap%'`)
  t.equal(events.length, 0, 'no event is recorded')
})

t.test('a quote is refused as its swap would be by the limits of the key', async (t) => {
  const limited = async (...limits: readonly object[]) => {
    const scopes = ['wallets:read', 'transactions:read', 'transactions:write']
    const made = await api.insist({
      method: 'POST',
      path: '/v1/api-keys',
      key: JSON.stringify(limits),
      body: { scopes, limits },
    })
    const client = createClient(stage.service.baseUrl, made.body.data.api_key)
    return (amount: string) => ask({ ...BUY, amount }, wallet.id, client)
  }
  const quote = await limited({ asset_id: 'eip155:1000001/slip44:60', amount: '1', window_seconds: 86_400 })
  t.equal((await quote('0.9')).status, 200)
  matchExactly(t, await quote('1.1'), {
    status: 403,
    body: { errors: [{ code: 'key_limit', details: { unit: 'ETH', left: '1' } }] },
  })
  t.match(await quote('1'), { status: 403 }, 'with its fee')
  const none = await limited({ transactions: 0, window_seconds: 3_600 })
  matchExactly(t, await none('0.1'), { status: 403, body: { errors: [{ details: { unit: 'transactions' } }] } })
})

t.test('an exact output has a maximum, and a wrap has neither price impact nor fees', async (t) => {
  const exact = await ask({ ...BUY, amount: '1000', amount_type: 'exact_output', slippage_bps: 0 })
  const { data } = exact.body
  t.match(data, { to_amount: '1000', min_to_amount: null, max_from_amount: DECIMAL, amount_type: 'exact_output' })
  t.equal(data.max_from_amount, data.from_amount, 'without slippage the maximum is the quote')
  const wrap = await ask({ ...BUY, to_asset: 'WETH' })
  matchExactly(t, wrap.body.data, {
    to_amount: '1.5',
    min_to_amount: '1.5',
    price: '1',
    price_impact_bps: 0,
    lp_fee_bps: 0,
    value_difference_bps: 0,
    route: [{ protocol: 'wrap', venue: null, pool: null, contract: chain.contracts.wrappedNative, hops: [] }],
    issues: { simulation: null },
  })
})

t.test('a wallet that cannot pay gets a quote that says so', async (t) => {
  const { status, body } = await ask({ from_asset: 'USDC', to_asset: 'ETH', amount: '100000' })
  t.equal(status, 200)
  const spender = chain.exchanges.swapRouter
  t.match(body.data, {
    approval: { needed: true, spender, amount: '100000', reset_first: false },
    issues: {
      allowance: { spender, actual: '0', needed: '100000' },
      balance: { asset: 'USDC', actual: '0', needed: '100000' },
      simulation: { code: 'insufficient_balance', reason: String },
    },
  })
  t.not(body.data.fee.approval, '0')
  const all = await ask({ ...BUY, amount: '1000', max_price_impact_bps: 2_000 })
  t.match(all.body.data.issues, { balance: { asset: 'ETH', actual: '1000', needed: /^1000\.\d+$/ } }, 'gas is missing')
  t.match(all.body.data.issues.price_impact, { price_impact_bps: Number })
})

t.test('a bad request names the field, the rule and what to do', async (t) => {
  const cases: readonly [object, string, string | RegExp][] = [
    [{ to_asset: 'ETH' }, 'to_asset', 'same_asset'],
    [{ to_asset: 'NOPE' }, 'to_asset', 'unknown_asset'],
    [{ from_asset: 'eip155:137/slip44:966' }, 'from_asset', 'unknown_asset'],
    [{ from_asset: '0x12' }, 'from_asset', 'invalid_address'],
    [{ amount: '0' }, 'amount', 'amount_zero'],
    [{ amount: '0.000' }, 'amount', 'amount_zero'],
    [{ amount: '-1' }, 'amount', 'invalid_amount'],
    [{ amount: '1e18' }, 'amount', 'invalid_amount'],
    [{ amount: 1 }, 'amount', /./],
    [{ amount: `0.${'1'.repeat(19)}` }, 'amount', 'too_many_decimals'],
    [{ amount: '0.0000001', amount_type: 'exact_output' }, 'amount', 'too_many_decimals'],
    [{ amount: '400000000000000000000' }, 'amount', 'amount_too_large'],
    [{ amount: '300000000000000000000', max_price_impact_bps: 5_000 }, 'amount', /too_high|liquidity/],
    [{ amount: '5000000000', amount_type: 'exact_output' }, 'amount', 'insufficient_liquidity'],
    [{ amount: '10000' }, 'amount', 'price_impact_too_high'],
    [{ slippage_bps: -1 }, 'slippage_bps', /./],
    [{ slippage_bps: 0.5 }, 'slippage_bps', /./],
    [{ slippage_bps: 5_001 }, 'slippage_bps', 'too_large'],
    [{ slippage_bps: 1_001 }, 'slippage_bps', 'too_large'],
    [{ max_price_impact_bps: 10_000 }, 'max_price_impact_bps', 'too_large'],
    [{ deadline_seconds: 5 }, 'deadline_seconds', 'too_small'],
    [{ deadline_seconds: 31_536_000 }, 'deadline_seconds', 'too_large'],
    [{ deadline_seconds: -600 }, 'deadline_seconds', 'too_small'],
    [{ amount_type: 'both' }, 'amount_type', /./],
    [{ recipient: STRANGER }, 'recipient', 'unknown_field'],
  ]
  for (const [change, field, code] of cases) {
    const { status, body } = await ask({ ...BUY, ...change })
    t.equal(status, 422, JSON.stringify(change))
    t.match(body.errors?.[0], { field, code, type: 'validation_error' }, JSON.stringify(change))
  }
})

t.test('only a wallet of the caller that can sign gets a quote', async (t) => {
  matchExactly(t, await ask(BUY, UNKNOWN), { status: 404, body: { errors: [{ code: 'wallet_not_found' }] } })
  const watch = await api.insist({
    method: 'POST',
    path: '/v1/wallets/watch',
    body: { address: STRANGER, network: 'ethereum', label: 'Watched' },
  })
  matchExactly(t, await ask(BUY, watch.body.data.wallet_id), {
    status: 422,
    body: { errors: [{ code: 'watch_only' }] },
  })
  const [other = wallet] = await stage.service.makeWallets(1)
  t.equal((await api.insist({ method: 'DELETE', path: `/v1/wallets/${other.id}?force=true` })).status, 200)
  matchExactly(t, await ask(BUY, other.id), { status: 409, body: { errors: [{ code: 'wallet_archived' }] } })
})

t.test('expired quotes are deleted as new ones are written', async (t) => {
  await pool.query(`UPDATE swap_quotes SET expires_at = now() - interval '2 hours'`)
  const { rows } = await pool.query('SELECT count(*)::int AS count FROM swap_quotes')
  t.ok(rows[0].count > 0)
  const rounds = Math.ceil(rows[0].count / 5) + 1
  for (let i = 0; i < rounds; i++) t.equal((await ask({ ...BUY, to_asset: 'WETH' })).status, 200)
  const left = await pool.query('SELECT count(*)::int AS count FROM swap_quotes')
  t.equal(left.rows[0].count, rounds)
})

t.end()
