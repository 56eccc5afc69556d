/**
 * Assets over HTTP, on a real PostgreSQL and a real chain: a registration has its contract's data, and is visible to
 * its tenant.
 */
import t, { type Test } from 'tap'
import { createRequireReadable } from '../../src/assets/unreadable.ts'
import type { BursarError } from '../../src/core/errors.ts'
import { decideOn } from '../../src/event-log/aggregate.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { DAI, RICH, withAssets } from '../support/asset-stage.ts'
import { type Answer, KEYS } from '../support/http.ts'
import { transferIntent } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'

function assetsOf(answer: Answer) {
  return answer.body.data as { assets: Record<string, unknown>[]; next_cursor: string | null; has_more: boolean }
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'accepted',
    (error: BursarError) => error.items[0]?.code ?? 'none',
  )
}

t.test('a registered token has the data of its contract, and only its tenant can use it, at once', async (t: Test) => {
  const assets = await withAssets(t)
  const contract_address = await assets.deploy('WBTC', 8)
  const answer = await assets.register({ network: 'ethereum', contract_address: contract_address.toLowerCase() })
  t.equal(answer.status, 201)
  const asset = {
    asset_id: `eip155:1000001/erc20:${contract_address}`,
    symbol: 'WBTC',
    name: 'WBTC Coin',
    decimals: 8,
    contract_address,
    network: 'ethereum',
    environment: 'mainnet',
    price_usd: null,
    price_at: null,
  }
  t.strictSame(answer.body.data, asset)
  const known = { assetId: asset.asset_id, decimals: 8, contract: contract_address }
  t.match(await assets.resolve('acme', assets.ethereum, 'wbtc'), known)
  t.match(await assets.describe('acme', assets.ethereum, asset.asset_id), known)
  t.equal(await codeOf(assets.resolve('globex', assets.ethereum, 'WBTC')), 'unknown_asset')
  t.equal(await assets.describe('globex', assets.ethereum, asset.asset_id), null)
  t.strictSame(assetsOf(await assets.list()).assets.at(2), asset)
  t.notOk((await assets.list('', { authorization: `Bearer ${KEYS.cold}` })).text.includes('WBTC'))
})

t.test('an asset registered by one process is found by another with older assets in its cache', async (t: Test) => {
  const assets = await withAssets(t)
  const other = assets.another()
  t.equal(await codeOf(other.resolve('acme', assets.ethereum, 'WBTC')), 'unknown_asset')
  await assets.register({ network: 'ethereum', contract_address: await assets.deploy('WBTC', 8) })
  t.match(await other.resolve('acme', assets.ethereum, 'WBTC'), { decimals: 8 })
})

t.test('simultaneous requests register a token once', async (t: Test) => {
  const assets = await withAssets(t)
  const body = { network: 'ethereum', contract_address: await assets.deploy('WBTC', 8) }
  const answers = await Promise.all(Array.from({ length: 8 }, () => assets.register(body)))
  for (const answer of answers) t.match(answer.body.data, { symbol: 'WBTC' })
  t.equal((await assets.register(body)).status, 200)
  const { rows } = await assets.pool.query(`SELECT FROM events WHERE type = 'AssetRegistered'`)
  t.equal(rows.length, 1)
  const configured = await assets.register({ network: 'ethereum', contract_address: DAI })
  t.equal(configured.status, 200, 'a configured token is already registered')
  t.match(configured.body.data, { symbol: 'DAI', decimals: 18, price_usd: null })
  await assets.pool.query(`INSERT INTO prices VALUES (1000001, 'DAI', 1.01, now())`)
  t.match((await assets.register({ network: 'ethereum', contract_address: DAI })).body.data, { price_usd: '1.01' })
})

t.test('the same idempotency key gives the same token, and another body under it is refused', async (t: Test) => {
  const assets = await withAssets(t)
  const headers = { 'idempotency-key': 'k1' }
  const body = { network: 'ethereum', contract_address: await assets.deploy('WBTC', 8) }
  t.equal((await assets.register(body, headers)).status, 201)
  const replay = await assets.register(body, headers)
  t.equal(replay.status, 201)
  t.equal(replay.headers['idempotency-replayed'], 'true')
  matchExactly(t, (await assets.register({ ...body, contract_address: DAI }, headers)).body.errors, [
    { code: 'idempotency_key_reused' },
  ])
})

t.test('an address without a token is refused, and distinguished from an unavailable node', async (t: Test) => {
  const assets = await withAssets(t)
  const refusals: [body: object, status: number, item: object][] = [
    [{ network: 'ethereum', contract_address: RICH }, 422, { code: 'not_a_token', field: 'contract_address' }],
    [
      { network: 'ethereum', contract_address: DAI.replace('B17', 'b17') },
      422,
      { code: 'bad_checksum', field: 'contract_address' },
    ],
    [{ network: 'ethereum', contract_address: '0x1' }, 422, { code: 'invalid_address', field: 'contract_address' }],
    [{ network: 'ethereum' }, 422, { code: 'required', field: 'contract_address' }],
    [{ network: 'ethereum', contract_address: RICH, symbol: 'X' }, 422, { code: 'unknown_field', field: 'symbol' }],
    [{ network: 'ethereum', environment: 'testnet', contract_address: RICH }, 403, { code: 'environment_mismatch' }],
    [
      { network: 'binance', contract_address: RICH },
      422,
      { code: 'network_not_configured', message: /BINANCE_RPC_URLS/ },
    ],
    [{ network: 'polygon', contract_address: RICH }, 503, { type: 'unavailable' }],
  ]
  for (const [body, status, item] of refusals) {
    const answer = await assets.register(body)
    t.equal(answer.status, status, JSON.stringify(body))
    matchExactly(t, answer.body.errors, [item])
  }
  const { rows } = await assets.pool.query('SELECT FROM events')
  t.equal(rows.length, 0)
})

t.test('two contracts of one symbol must be named by address', async (t: Test) => {
  const assets = await withAssets(t)
  const impostor = await assets.deploy('DAI', 2)
  await assets.register({ network: 'ethereum', contract_address: impostor })
  t.equal(await codeOf(assets.resolve('acme', assets.ethereum, 'DAI')), 'ambiguous_asset')
  t.match(await assets.resolve('acme', assets.ethereum, impostor), { decimals: 2 })
  t.match(await assets.resolve('globex', assets.ethereum, 'DAI'), { contract: DAI })
})

t.test('only the network currency and configured tokens have a price, registered tokens have none', async (t: Test) => {
  const assets = await withAssets(t)
  await assets.register({ network: 'ethereum', contract_address: await assets.deploy('DAI', 2) })
  await assets.pool.query(
    `INSERT INTO prices VALUES (1000001, 'ETH', 3012.5, '2026-01-01T00:00:00Z'), (1000001, 'DAI', 0.9998, '2026-01-01T00:00:01Z')`,
  )
  const { assets: listed } = assetsOf(await assets.list('?network=ethereum'))
  matchExactly(t, listed, [
    { symbol: 'ETH', contract_address: null, price_usd: '3012.5', price_at: '2026-01-01T00:00:00.000Z' },
    { symbol: 'DAI', contract_address: DAI, price_usd: '0.9998' },
    { symbol: 'DAI', decimals: 2, price_usd: null, price_at: null },
  ])
})

t.test('assets are listed by network, page by page', async (t: Test) => {
  const assets = await withAssets(t)
  const symbols = async (query: string) => assetsOf(await assets.list(query)).assets.map(({ symbol }) => symbol)
  t.strictSame(await symbols(''), ['ETH', 'DAI', 'POL'])
  t.strictSame(await symbols('?network=polygon'), ['POL'])
  const first = assetsOf(await assets.list('?limit=2'))
  t.equal(first.has_more, true)
  t.strictSame(await symbols(`?limit=2&cursor=${first.next_cursor}`), ['POL'])
  t.match(assetsOf(await assets.list(`?limit=2&cursor=${first.next_cursor}`)), { has_more: false, next_cursor: null })
  for (const query of ['?cursor=x', `?network=polygon&cursor=${first.next_cursor}`]) {
    matchExactly(t, (await assets.list(query)).body.errors, [{ code: 'invalid_cursor', field: 'cursor' }])
  }
  matchExactly(t, (await assets.list('?network=binance')).body.errors, [{ code: 'network_not_configured' }])
})

t.test('a contract that harms its readers is refused with the reason, and the node serves others', async (t: Test) => {
  const assets = await withAssets(t)
  const [honest, loops, bomb, reverts, floods] = [0, 1, 2, 3, 5]
  const refused: [reads: number, describes: number, message: RegExp][] = [
    [honest, loops, /its symbol\(\) uses more than 500000 gas/],
    [honest, bomb, /its symbol\(\) uses more than 500000 gas/],
    [honest, floods, /its symbol\(\) returns more than 1024 bytes/],
    [honest, reverts, /its symbol\(\) does not return what ERC-20 requires/],
    [loops, honest, /its balanceOf\(\) uses more than 500000 gas/],
    [floods, honest, /its balanceOf\(\) returns more than 1024 bytes/],
    [reverts, honest, /its balanceOf\(\) does not return what ERC-20 requires/],
  ]
  for (const [reads, describes, message] of refused) {
    const { address } = await assets.hostile(reads, describes)
    const answer = await assets.register({ network: 'ethereum', contract_address: address })
    t.equal(answer.status, 422)
    matchExactly(t, answer.body.errors, [{ code: 'not_a_token', field: 'contract_address', message }])
  }
  const odd = await assets.hostile(honest, honest)
  const body = { network: 'ethereum', contract_address: odd.address }
  for (const [symbol, decimals, message] of [
    ['X'.repeat(10_240), 18, /uses more than 500000 gas/],
    ['X'.repeat(5_000), 18, /returns more than 1024 bytes/],
    ['X'.repeat(65), 18, /longer than 64 bytes/],
    ['ODD', 78, /its decimals\(\) is above 77/],
  ] as const) {
    await odd.describe(symbol, decimals)
    matchExactly(t, (await assets.register(body)).body.errors, [{ code: 'not_a_token', message }])
  }
  t.equal((await assets.pool.query('SELECT FROM events')).rows.length, 0)
  await odd.describe('O\u202eDD', 77)
  t.match(await assets.register(body), { status: 201, body: { data: { symbol: 'ODD', decimals: 77 } } })
})

t.test('a token with a name of 10 kB is registered and listed with a short one', async (t: Test) => {
  const assets = await withAssets(t)
  for (const bytes of [65, 5_000, 10_240]) {
    const symbol = `LONG${bytes}`
    const contract_address = await assets.deploy(symbol, 18, 'N'.repeat(bytes))
    const answer = await assets.register({ network: 'ethereum', contract_address })
    t.match(answer, { status: 201, body: { data: { symbol, decimals: 18 } } })
    const { length } = String(answer.body.data?.name)
    t.ok(length > 0 && length <= 64, `the stored name has ${length} characters`)
  }
  t.ok((await assets.list()).text.length < 4_000)
})

t.test('a repeated removal of an asset changes nothing, and registering it again undoes it', async (t: Test) => {
  const assets = await withAssets(t)
  const contract_address = await assets.deploy('WBTC', 8)
  const body = { network: 'ethereum', contract_address }
  const registering = { 'idempotency-key': 'first' }
  const { asset_id } = (await assets.register(body, registering)).body.data as { asset_id: string }
  const first = await assets.remove(asset_id)
  t.match(first, { status: 200, body: { data: { asset_id, symbol: 'WBTC', contract_address, removed_at: String } } })
  t.strictSame((await assets.remove(asset_id.toLowerCase())).body, first.body)
  t.equal(await codeOf(assets.resolve('acme', assets.ethereum, 'WBTC')), 'unknown_asset')
  t.notOk((await assets.list()).text.includes('WBTC'))

  const replay = await assets.register(body, registering)
  t.match(replay, { status: 201, headers: { 'idempotency-replayed': 'true' }, body: { data: { removed_at: String } } })
  t.notOk((await assets.list()).text.includes('WBTC'), 'a repeated request does not register the asset again')
  t.equal((await assets.register(body)).status, 201)
  t.match(await assets.resolve('acme', assets.ethereum, 'WBTC'), { contract: contract_address })
  t.equal((await assets.remove(asset_id)).status, 200)
  const { rows } = await assets.pool.query(`SELECT type FROM events ORDER BY position`)
  t.strictSame(
    rows.map(({ type }) => type),
    ['AssetRegistered', 'AssetRemoved', 'AssetRegistered', 'AssetRemoved'],
  )
})

t.test('only an asset that the caller registered is removed', async (t: Test) => {
  const assets = await withAssets(t)
  const contract = await assets.deploy('WBTC', 8)
  const body = { network: 'ethereum', contract_address: contract }
  const { asset_id } = (await assets.register(body)).body.data as { asset_id: string }
  const refusals: [id: string, status: number, code: string, headers?: object][] = [
    [asset_id, 404, 'asset_not_found', { authorization: `Bearer ${KEYS.cold}` }],
    [asset_id.replace('1000001', '1'), 404, 'asset_not_found'],
    [`eip155:1000001/erc20:${RICH}`, 404, 'asset_not_found'],
    [`eip155:1000001/erc20:${DAI}`, 409, 'asset_not_registered'],
    ['eip155:1000001/slip44:60', 409, 'asset_not_registered'],
    ['WBTC', 422, 'invalid_asset_id'],
    [contract, 422, 'invalid_asset_id'],
    [`eip155:1000001/erc20:${DAI.replace('B17', 'b17')}`, 422, 'bad_checksum'],
  ]
  for (const [id, status, code, headers] of refusals)
    matchExactly(t, await assets.remove(id, headers), { status, body: { errors: [{ code }] } }, id)
  t.equal((await assets.remove(asset_id, { authorization: `Bearer ${KEYS.reader}` })).status, 403)

  const asset = await assets.resolve('acme', assets.ethereum, 'WBTC')
  const opened = decideOn(
    transactionAggregate,
    { id: 'tx_1', state: transactionAggregate.initialState, version: 0, hash: '' },
    { type: 'RequestTransaction', opening: 'TransferRequested', intent: transferIntent({ asset, amount: 0n }) },
    { metadata: { tenantId: 'acme', actor: 'test' }, now: assets.log.now() },
  )
  await assets.log.append({
    decisions: opened === null ? [] : [{ ...opened, readModels: { ...opened.readModels, holds: [] } }],
  })
  matchExactly(t, await assets.remove(asset_id), {
    status: 409,
    body: { errors: [{ code: 'asset_has_pending_transactions', details: { transaction_ids: ['tx_1'] } }] },
  })
  await assets.pool.query(`UPDATE transactions SET state = 'confirmed'`)
  t.equal((await assets.remove(asset_id)).status, 200)
})

t.test('a token in quarantine is listed as such, and what needs its balance is refused', async (t: Test) => {
  const assets = await withAssets(t)
  const contract = await assets.deploy('WBTC', 8)
  await assets.register({ network: 'ethereum', contract_address: contract })
  const note = (quarantined: boolean) =>
    assets.pool.query(
      `INSERT INTO unread_tokens VALUES (1000001, $1, '2026-11-22T12:00:00Z', 'gas', 3, $2, '2026-11-22T12:01:00Z')
         ON CONFLICT (chain_id, contract) DO UPDATE SET quarantined_at = excluded.quarantined_at`,
      [contract, quarantined ? new Date() : null],
    )
  const requireReadable = createRequireReadable(assets.pool)
  const asset = await assets.resolve('acme', assets.ethereum, 'WBTC')
  const listed = async () => assetsOf(await assets.list()).assets.find(({ symbol }) => symbol === 'WBTC')
  await note(false)
  t.notOk(Object.hasOwn((await listed()) ?? {}, 'unreadable'))
  await requireReadable(1000001, asset)
  await note(true)
  const times = { since: '2026-11-22T12:00:00.000Z', retry_at: '2026-11-22T12:01:00.000Z' }
  t.match(await listed(), { unreadable: { ...times, reason: 'gas' } })
  await t.rejects(requireReadable(1000001, asset), { code: 'token_unreadable', details: { ...times, reason: 'gas' } })
  await requireReadable(1000137, asset)
  await requireReadable(1000001, { ...asset, contract: null })
})
