/** Filters of the feed: the same events as without an index, few rows for a filter that matches little, and a quota. */
import { readFileSync } from 'node:fs'
import type { Pool } from 'pg'
import t, { type Test } from 'tap'
import { loadConfig } from '../../src/compose/load-config.ts'
import { composeQuotas } from '../../src/compose/quotas.ts'
import { CATALOGUE as DECLARED, OPENINGS } from '../../src/declarations.ts'
import { createMetrics } from '../../src/http/metrics.ts'
import { told } from '../support/client.ts'
import { type FeedApi, type FeedPage, serveFeed } from '../support/feed-stage.ts'
import { KEYS } from '../support/http.ts'
import { withLog } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { listing, rowsRead } from '../support/plans.ts'
import { CATALOGUE, PUBLIC_LOG } from '../support/public-log.ts'

/** Rows of the log that a request may look at for a filter that matches nothing. */
const MOST_ROWS = 200

async function readAll({ page }: FeedApi, limit: number, query: string): Promise<FeedPage['events']> {
  const events: FeedPage['events'][number][] = []
  for (let after = ''; ; ) {
    const one = await page(`limit=${limit}${query}${after}`)
    events.push(...one.events)
    if (!one.has_more) return events
    after = `&after=${encodeURIComponent(one.next_after ?? '')}`
  }
}

/** The log that causes every public event, all of one tenant, and what the read model of transactions says of it. */
async function insertPublicLog(pool: Pool): Promise<void> {
  const columns = PUBLIC_LOG.map(({ stream_id, stream_version, type, schema_version, data, recorded_at, hash }) => {
    const metadata = { tenantId: 'acme', actor: 'golden' }
    return { stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash: hash.toString('hex') }
  })
  await pool.query(
    `INSERT INTO events (stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash)
     SELECT stream_id, stream_version, type, schema_version, data, metadata, recorded_at, decode(hash, 'hex')
       FROM json_to_recordset($1) AS x(stream_id text, stream_version integer, type text, schema_version integer, data jsonb,
                                       metadata jsonb, recorded_at timestamptz, hash text)`,
    [JSON.stringify(columns)],
  )
  await pool.query(
    `INSERT INTO transactions (transaction_id, tenant_id, wallet_id, network, environment, chain_id, type, state, status, from_address,
                               to_address, asset_id, asset_symbol, asset_decimals, amount, gas_priority, hashes, fee_estimated, history,
                               estimated_completion_at, created_at, updated_at, version, subject_type, subject_id)
     SELECT substr(stream_id, 13), 'acme', 'wal_1', 'ethereum', 'mainnet', 1, 'TRANSFER', 'requested', 'pending', '0x', '0x', '', 'ETH', 18, 1,
            'medium', '[]', 1, '[]', now(), now(), now(), 1, data->'subject'->>'type', data->'subject'->>'id'
       FROM events WHERE type = ANY ($1) AND stream_version = 1 AND starts_with(stream_id, 'transaction-')`,
    [Object.keys(OPENINGS)],
  )
}

t.test(
  'a filter by type or resource lets through what reading everything does, in pages of any size',
  async (t: Test) => {
    const log = await withLog(t)
    await insertPublicLog(log.pool)
    const api = await serveFeed(t, log)
    const all = await readAll(api, 1_000, '')
    const ids = (events: FeedPage['events']) => events.map(({ id }) => id)
    const types = CATALOGUE.types.map(({ type }) => type)
    const resources = [...new Set(all.map(({ resource }) => resource.id))]
    t.ok(all.length > 100 && resources.length > 20)
    for (const type of types) {
      const expected = ids(all.filter((event) => event.type === type))
      for (const limit of [2, 1_000]) t.strictSame(ids(await readAll(api, limit, `&types=${type}`)), expected, type)
    }
    for (const id of resources) {
      const own = all.filter(({ resource }) => resource.id === id)
      const query = `&resource=${encodeURIComponent(id)}`
      for (const limit of [1, 1_000]) t.strictSame(ids(await readAll(api, limit, query)), ids(own), id)
      const [some] = own
      const typed = await readAll(api, 1_000, `${query}&types=${some?.type},wallet.updated`)
      t.strictSame(ids(typed), ids(own.filter(({ type }) => type === some?.type || type === 'wallet.updated')), id)
    }
  },
)

/** Streams of one event each, or one stream: of the tenant acme, as nobody appended them. */
async function insertMany(
  pool: Pool,
  count: number,
  of: { stream: string; version: string; type: string; data: object },
) {
  await pool.query(
    `INSERT INTO events (stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash)
     SELECT ${of.stream}, ${of.version}, $2, 1, $3, '{"tenantId": "acme", "actor": "test"}', now(), decode(repeat('ab', 32), 'hex')
       FROM generate_series(1, $1::integer) AS n`,
    [count, of.type, of.data],
  )
}

const goldenData = (name: string) =>
  JSON.parse(readFileSync(new URL(`../golden/events/${name}.json`, import.meta.url), 'utf8')).data

async function withManyEvents(t: Test) {
  const log = await withLog(t)
  const { pool } = log
  const inWallet = (id: string) => ({ stream: `'wallet-${id}'`, version: 'n + 1', type: 'WalletRelabelled' })
  const own = { stream: `'wallet-wal_1'`, version: '1', type: 'WalletCreated', data: goldenData('WalletCreated.v1') }
  await insertMany(pool, 1, own)
  await insertMany(pool, 4_000, { ...inWallet('wal_1'), data: goldenData('WalletRelabelled.v1') })
  const balance = {
    stream: `'balance-wal_1'`,
    version: 'n',
    type: 'BalanceChanged',
    data: goldenData('BalanceChanged.v1'),
  }
  await insertMany(pool, 4_000, balance)
  const transfer = { ...goldenData('TransferObserved.v1'), notices: ['deposit'] }
  const observed = { stream: `'observed-obs_' || n`, version: '1', type: 'TransferObserved', data: transfer }
  await insertMany(pool, 6_000, observed)
  // Of another tenant, whose ids anybody may ask for.
  await pool.query(
    `INSERT INTO events (stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash)
     SELECT 'wallet-wal_2', stream_version, type, 1, data, '{"tenantId": "globex", "actor": "test"}', now(), hash
       FROM events WHERE stream_id = 'wallet-wal_1'`,
  )
  await insertMany(pool, 1, {
    stream: `'wallet-wal_3'`,
    version: '1',
    type: 'WalletCreated',
    data: goldenData('WalletCreated.v1'),
  })
  await pool.query('VACUUM ANALYZE events')
  return log
}

t.test('a filter that matches nothing looks at few rows of the log, wherever it begins', async (t: Test) => {
  const log = await withManyEvents(t)
  const { spy, asked } = listing(log.pool)
  const api = await serveFeed(t, { ...log, pool: spy })
  const first = encodeURIComponent('evt_wallet-wal_1.1')
  const end = encodeURIComponent('evt_wallet-wal_3.1')
  const rest = encodeURIComponent('evt_observed-obs_5900.1')
  const seldom = CATALOGUE.types.map(({ type }) => type).filter((type) => !/^(wallet|balance|deposit|watch)/.test(type))
  for (const query of [
    'types=transaction.mined',
    'types=nft.mint.minted,nft.mint.failed,transaction.fell_short',
    `types=${seldom.join()}`,
    `after=${first}&types=wallet.created&resource=wal_9`,
    'resource=tx_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a13',
    'resource=mint_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a13',
    'resource=eip155%3A1%2Ferc20%3A0x01',
    'resource=wal_2',
    `after=${end}&resource=wal_1`,
    `after=${rest}&resource=wal_1`,
    `after=${end}&types=balance.changed,wallet.updated,deposit.detected`,
    'types=watch.incoming',
    `after=${first}&types=watch.large_transfer,transaction.mined`,
    'types=wallet.archived&resource=wal_1',
  ]) {
    asked.length = 0
    const { events } = await api.page(query)
    t.strictSame(events, [], query)
    let rows = 0
    for (const { text, values } of asked.filter(({ text }) => /\bevents\b/.test(text))) {
      const plan = await log.pool.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
      rows += rowsRead(plan.rows[0]['QUERY PLAN'][0].Plan, 'events')
    }
    t.ok(rows <= MOST_ROWS, `${rows} rows: ${query}`)
  }
})

t.test(
  'who has too much read for nothing waits, with other tenants and readers without a filter served',
  async (t: Test) => {
    const log = await withManyEvents(t)
    const settings = { QUOTA_SKIPPED_EVENTS_PER_SECOND: '1', QUOTA_OVERRIDES: 'globex:skipped_events_per_second=1000' }
    const config = loadConfig({ DATABASE_URL: log.url, ...settings })
    const { quotas } = composeQuotas({
      ...log,
      config,
      catalogue: DECLARED,
      metrics: createMetrics('test', DECLARED.metrics),
      findReplay: async () => null,
    })
    const api = await serveFeed(t, log, {}, { quotas })
    const get = (query: string, key: string = KEYS.full) =>
      api.send({ url: `/v1/events?${query}`, headers: { authorization: `Bearer ${key}` } })
    const first = await get('types=watch.incoming')
    matchExactly(t, first.body.data, { events: [], has_more: true, next_after: String })
    const after = `after=${encodeURIComponent(String(first.body.data?.next_after))}`
    const refused = await get(`types=watch.incoming&${after}`)
    t.strictSame(told(refused), ['- quota_skipped_events_per_second'])
    t.match(
      refused.body.message,
      /events per second that were read and did not match the filter. Continue with next_after/,
    )
    t.ok(Number(refused.headers['retry-after']) >= 60, 'a second for each')
    t.strictSame(told(await get('types=wallet.created&wait=60', KEYS.listener)), ['- quota_skipped_events_per_second'])
    t.equal((await get('limit=1')).status, 200)
    t.equal((await get('types=wallet.created', KEYS.cold)).status, 200)
  },
)
