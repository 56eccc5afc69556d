/** Reading balances over HTTP: from rows, from the chain before there are rows, and as known at a time. */
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { assetAggregate, assetStreamId } from '../../src/assets/aggregate.ts'
import type { AssetCommand } from '../../src/assets/decider.ts'
import { balanceAggregate } from '../../src/balances/aggregate.ts'
import type { Observation } from '../../src/balances/events.ts'
import { type Asset, tokenAsset } from '../../src/core/assets.ts'
import { decideOn } from '../../src/event-log/aggregate.ts'
import { serve, startApiProcess } from '../support/capabilities.ts'
import { withFollowedChain } from '../support/followed-chain.ts'
import { KEYS } from '../support/http.ts'
import { NATIVE, TEST_CHAIN } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'

const USDC = tokenAsset(TEST_CHAIN, '0x5FbDB2315678afecb367f032d93F642f64180aa3', 'USDC', 6)
/** A token of the same name that a tenant registered, without a contract. */
const FAKE = tokenAsset(TEST_CHAIN, '0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512', 'FAKE', 6)
const ADDRESS = '0x1111111111111111111111111111111111111119'

const wallets = {
  mine: 'wal_01977b3e-6f7a-7c3e-9f5b-000000000001',
  archived: 'wal_01977b3e-6f7a-7c3e-9f5b-000000000002',
  unready: 'wal_01977b3e-6f7a-7c3e-9f5b-000000000003',
  foreign: 'wal_01977b3e-6f7a-7c3e-9f5b-000000000004',
}

async function withReads(t: Test) {
  const configured = [{ symbol: 'USDC', address: USDC.contract ?? '', decimals: 6 }]
  const chain = await withFollowedChain(t, async () => ({ tokens: configured }))
  const { pool, log, balances, chains, chainOf } = chain
  const clock = { now: Date.parse('2026-11-21T12:00:00.000Z') }
  const api = startApiProcess(t, chain.url, { clock: () => clock.now, chains, chainOf })
  const { send } = await serve(api, ['balances'])
  for (const [name, id] of Object.entries(wallets)) {
    await pool.query(
      `INSERT INTO wallets (wallet_id, tenant_id, type, network, environment, chain_id, address, label, status, created_at, version)
       VALUES ($1, $2, 'hd', 'ethereum', 'mainnet', $3, $4, '', $5, now(), 1)`,
      [
        id,
        name === 'foreign' ? 'globex' : 'acme',
        TEST_CHAIN,
        name === 'unready' ? null : ADDRESS,
        name === 'archived' ? 'archived' : 'active',
      ],
    )
  }
  /** Records an observation like the follower, at a time of the clock. */
  const record = async (
    walletId: string,
    asset: Asset,
    balance: string,
    blockNumber: number,
    at: string,
    tenantId = 'acme',
  ) => {
    const loaded = (await balances.load([walletId])).get(walletId)
    if (loaded === undefined) throw new Error('a wallet does not load')
    const observations: Observation[] = [{ asset, balance, blockNumber, blockHash: `0x${blockNumber}` }]
    const command = { type: 'RecordObservations', observations, cause: 'block', now: at } as const
    const decided = decideOn(balanceAggregate, loaded, command, {
      metadata: { tenantId, actor: 'worker:test' },
      now: at,
    })
    await log.append({ decisions: decided === null ? [] : [decided] })
  }
  const read = (walletId: string, query = '', authorization = `Bearer ${KEYS.full}`) =>
    send({ method: 'GET', url: `/v1/wallets/${walletId}/balance${query}`, headers: { authorization } })
  return { ...chain, clock, record, read }
}

t.test('a balance is shown with its value, and with what pending transactions reserve of it', async (t) => {
  const { pool, record, read, clock } = await withReads(t)
  await record(wallets.mine, NATIVE, '1500000000000000000', 42, '2026-11-21T11:00:00.000Z')
  const expected = {
    balance: '1.5',
    currency: 'ETH',
    usd_value: null,
    updated_at: '2026-11-21T11:00:00.000Z',
    network: 'ethereum',
    decimals: 18,
    contract_address: null,
    available: '1.5',
    pending_out: '0',
    block_number: 42,
  }
  t.strictSame((await read(wallets.mine)).body, { status: 'success', data: expected })

  await pool.query(`INSERT INTO prices VALUES ($1, 'ETH', 3012.345, '2026-11-21T11:59:00Z')`, [TEST_CHAIN])
  await pool.query(`INSERT INTO wallet_holds VALUES ($1, $2, 400000000000000000)`, [wallets.mine, NATIVE.assetId])
  const held = { ...expected, usd_value: '4518.52', available: '1.1', pending_out: '0.4' }
  t.strictSame((await read(wallets.mine)).body.data, held)
  await pool.query('UPDATE wallet_holds SET held = 2000000000000000000')
  t.match((await read(wallets.mine)).body.data, { available: '0', pending_out: '2' }, 'available is never negative')
  clock.now += 26 * 60 * 60 * 1_000
  t.match((await read(wallets.mine)).body.data, { usd_value: null }, 'an old price is not used')
})

t.test('a token is named by symbol or contract; a token that a tenant registered has no value', async (t) => {
  const { pool, record, read } = await withReads(t)
  await pool.query(
    `INSERT INTO assets VALUES ('acme', $1, 'ethereum', 'mainnet', $2, $3, 'FAKE', 'Fake', 6, now(), 1)`,
    [FAKE.assetId, TEST_CHAIN, FAKE.contract],
  )
  await pool.query(
    `INSERT INTO prices SELECT $1, symbol, 1, '2026-11-21T11:59:00Z' FROM unnest(ARRAY['USDC', 'FAKE']) AS symbol`,
    [TEST_CHAIN],
  )
  await record(wallets.mine, NATIVE, '0', 1, '2026-11-21T11:00:00.000Z')
  await record(wallets.mine, USDC, '1500000', 2, '2026-11-21T11:00:01.000Z')
  await record(wallets.mine, FAKE, '9000000', 3, '2026-11-21T11:00:02.000Z')
  const usdc = { balance: '1.5', currency: 'USDC', usd_value: '1.50', decimals: 6, contract_address: USDC.contract }
  t.match((await read(wallets.mine, '?asset=usdc')).body.data, usdc)
  t.match((await read(wallets.mine, `?asset=${USDC.contract?.toLowerCase()}`)).body.data, usdc)
  t.match((await read(wallets.mine, '?asset=FAKE')).body.data, { balance: '9', usd_value: null })
  const { data } = (await read(wallets.mine, '?include=tokens')).body
  matchExactly(t, data, {
    currency: 'ETH',
    balance: '0',
    assets: [{ currency: 'ETH' }, usdc, { currency: 'FAKE', usd_value: null }],
  })
  t.notOk(Object.hasOwn((await read(wallets.mine)).body.data ?? {}, 'assets'))

  t.notOk(Object.hasOwn((await read(wallets.mine, '?asset=FAKE')).body.data ?? {}, 'stale_since'))
  await pool.query(`INSERT INTO unread_tokens VALUES ($1, $2, '2026-11-21T11:59:00Z', 'gas', 3, now(), now())`, [
    TEST_CHAIN,
    FAKE.contract,
  ])
  const stale = { balance: '9', stale_since: '2026-11-21T11:59:00.000Z' }
  t.match(
    (await read(wallets.mine, '?asset=FAKE')).body.data,
    stale,
    'the last balance is returned and marked as stale',
  )
  t.notOk(Object.hasOwn((await read(wallets.mine, '?asset=USDC')).body.data ?? {}, 'stale_since'))

  const unknown = await read(wallets.mine, '?asset=DOGE')
  matchExactly(t, [unknown.status, unknown.body.errors?.[0]], [422, { code: 'unknown_asset', field: 'asset' }])
})

t.test('before the first observation the chain is read, and nothing is recorded', async (t) => {
  const { pool, transfer, read, record } = await withReads(t)
  await transfer(ADDRESS, 5n)
  const live = {
    balance: '0.000000000000000005',
    block_number: 1,
    updated_at: '2026-11-21T12:00:00.000Z',
    available: '0.000000000000000005',
  }
  t.match((await read(wallets.mine)).body.data, live)
  t.match(
    (await read(wallets.mine, '?include=tokens')).body.data,
    { assets: { length: 1 } },
    'a token without a contract is left out',
  )
  const silent = await read(wallets.mine, '?asset=USDC')
  matchExactly(t, [silent.status, silent.body.errors?.[0]], [422, { type: 'chain_error', code: 'token_silent' }])
  matchExactly(t, (await pool.query('SELECT count(*)::integer AS rows FROM balances')).rows, [{ rows: 0 }])
  await record(wallets.mine, NATIVE, '7', 1, '2026-11-21T11:00:00.000Z')
  t.match((await read(wallets.mine)).body.data, { balance: '0.000000000000000007' }, 'the stored balance is returned')
})

t.test('with `at` a balance is shown as it was known then', async (t) => {
  const { read, record, pool } = await withReads(t)
  for (const [balance, block, minute] of [
    ['1', 1, '01'],
    ['2', 2, '02'],
    ['3', 3, '03'],
  ] as const) {
    await record(wallets.mine, NATIVE, `${balance}000000000000000000`, block, `2026-11-21T11:${minute}:00.000Z`)
  }
  await record(wallets.mine, USDC, '1', 3, '2026-11-21T11:03:00.000Z')
  const at = async (time: string, more = '') =>
    (await read(wallets.mine, `?at=${encodeURIComponent(time)}${more}`)).body
  t.match((await at('2026-11-21T11:02:00.000Z')).data, {
    balance: '2',
    block_number: 2,
    updated_at: '2026-11-21T11:02:00.000Z',
    usd_value: null,
    available: null,
    pending_out: null,
  })
  t.match((await at('2026-11-21T12:02:59.999+01:00')).data, { balance: '2' })
  t.match((await at('2026-11-21T11:59:00Z')).data, { balance: '3' })
  matchExactly(t, (await at('2026-11-21T11:02:00Z', '&include=tokens')).data, {
    assets: [{ currency: 'ETH', balance: '2' }],
  })
  matchExactly(t, (await at('2026-11-21T11:03:00Z', '&include=tokens')).data, {
    assets: [{ balance: '3' }, { currency: 'USDC' }],
  })

  for (const early of ['2026-11-21T11:00:59.999Z', '0000-01-01T00:00:00Z']) {
    matchExactly(t, (await at(early)).errors, [{ type: 'not_found', code: 'balance_not_observed' }])
  }
  matchExactly(t, (await at('2026-11-21T12:00:00.001Z')).errors, [
    { type: 'validation_error', code: 'time_in_future', field: 'at' },
  ])
  for (const bad of ['yesterday', '2026-11-21', '2026-11-21T11:00:00', '2026-13-01T00:00:00Z', '1763726400']) {
    matchExactly(t, (await at(bad)).errors, [{ type: 'validation_error', field: 'at' }], bad)
  }
  // However long the stream: the index leads to one event.
  const { rows } = await pool
    .query(`SET enable_seqscan = off; EXPLAIN SELECT data FROM events
    WHERE stream_id = 'x' AND type IN ('BalanceChanged', 'BalanceReorged') AND data->'asset'->>'assetId' = 'y' AND recorded_at <= now()
    ORDER BY recorded_at DESC, stream_version DESC LIMIT 1`)
    .then((results) => (results as unknown as { rows: object[] }[])[1] ?? { rows: [] })
  t.match(JSON.stringify(rows), /Index Scan Backward using events_balances_by_time/)
})

t.test('with `at` a token has the decimals that it was registered with then', async (t) => {
  const { read, record, log, pool } = await withReads(t)
  const { assetId, contract } = FAKE
  const ask = async (command: AssetCommand, now: string) => {
    const loaded = await log.load(assetAggregate, assetStreamId('acme', assetId))
    const decided = decideOn(assetAggregate, loaded, command, {
      metadata: { tenantId: 'acme', actor: 'apikey:1' },
      now,
    })
    await log.append({ decisions: decided === null ? [] : [decided] })
  }
  const register = (decimals: number, now: string) => {
    const place = { network: 'ethereum', environment: 'mainnet', chainId: TEST_CHAIN } as const
    const asset = { assetId, ...place, contractAddress: contract ?? '', symbol: 'FAKE', name: 'Fake', decimals }
    return ask({ type: 'RegisterAsset', asset: { ...asset, registeredAt: now } }, now)
  }
  await register(0, '2026-11-21T11:00:00.000Z')
  await record(wallets.mine, { ...FAKE, decimals: 0 }, '990', 1, '2026-11-21T11:01:00.000Z')
  await ask({ type: 'RemoveAsset', now: '2026-11-21T11:02:00.000Z' }, '2026-11-21T11:02:00.000Z')
  await register(4, '2026-11-21T11:03:00.000Z')
  await record(wallets.mine, { ...FAKE, decimals: 4 }, '991', 2, '2026-11-21T11:05:00.000Z')
  matchExactly(t, (await pool.query('SELECT decimals FROM assets')).rows, [{ decimals: 4 }])
  for (const [minute, balance, decimals] of [
    ['01', '990', 0],
    ['02', '990', 0],
    ['04', '0.099', 4],
    ['05', '0.0991', 4],
  ] as const) {
    const at = `2026-11-21T11:${minute}:30.000Z`
    t.match((await read(wallets.mine, `?asset=FAKE&at=${at}`)).body.data, { balance, decimals, as_of: at })
  }
})

t.test('an answer about a moment ago waits for what is being committed, and does not change', async (t) => {
  const { read, record, pool, clock } = await withReads(t)
  const now = new Date(clock.now).toISOString()
  await record(wallets.mine, NATIVE, '1', 1, '2026-11-21T11:00:00.000Z')
  const blocking = await pool.connect()
  await blocking.query('BEGIN')
  await blocking.query('SELECT FROM balances FOR UPDATE')
  const recorded = record(wallets.mine, NATIVE, '2', 2, now)
  const first = read(wallets.mine, `?at=${now}`)
  await delay(200)
  await blocking.query('ROLLBACK')
  blocking.release()
  await recorded
  const { data } = (await read(wallets.mine, `?at=${now}`)).body
  t.match(data, { balance: '0.000000000000000002', as_of: now })
  t.strictSame((await first).body.data, data)
})

t.test('a resource of another tenant is refused in the same words as one that does not exist', async (t) => {
  const { read, record } = await withReads(t)
  await record(wallets.archived, NATIVE, '1', 1, '2026-11-21T11:00:00.000Z')
  await record(wallets.foreign, NATIVE, '1', 1, '2026-11-21T11:00:00.000Z', 'globex')
  t.equal((await read(wallets.archived)).status, 200, 'the balance of an archived wallet is still readable')
  const unready = await read(wallets.unready)
  matchExactly(t, [unready.status, unready.body.errors?.[0]?.code], [409, 'wallet_not_ready'])
  const absent = await read('wal_01977b3e-6f7a-7c3e-9f5b-00000000000f')
  const foreign = await read(wallets.foreign)
  t.equal(absent.status, 404)
  t.strictSame({ ...foreign.body, request_id: '' }, { ...absent.body, request_id: '' })
  t.equal((await read(wallets.mine, '', `Bearer ${KEYS.reader}`)).status, 403, 'another environment is refused')
  t.match((await read(wallets.mine, '?assets=ETH&include=everything')).body.errors, { length: 2 })
  t.equal((await read(wallets.mine, '', 'Bearer nobody')).status, 401)
})
