/** The event feed: every public event of the tenant once, in the order of the log, by pages, long polls and streams. */
import t from 'tap'
import { told } from '../support/client.ts'
import { insertEvent } from '../support/event-history.ts'
import { type FeedPage, withFeed } from '../support/feed-stage.ts'
import { KEYS } from '../support/http.ts'

const stage = await withFeed(t)
const { pool, page, send, stream, transfers } = stage

async function readAll(limit: number, query = ''): Promise<FeedPage['events']> {
  const events: FeedPage['events'][number][] = []
  for (let after = ''; ; ) {
    const one = await page(`limit=${limit}${query}${after}`)
    events.push(...one.events)
    if (!one.has_more) return events
    after = `&after=${encodeURIComponent(one.next_after ?? '')}`
  }
}

const asset = (contract: string, environment: string) => ({
  assetId: `eip155:1/erc20:${contract}`,
  network: 'ethereum',
  environment,
  chainId: 1,
  contractAddress: contract,
  symbol: 'SYM',
  name: 'Symbol',
  decimals: 6,
  registeredAt: '2026-01-01T00:00:00.000Z',
})

const ids = await transfers(3)
await transfers(2, 'globex')
await insertEvent(pool, 'asset-eip155:1/erc20:0x01@acme', 1, 'AssetRegistered', asset('0x01', 'mainnet'))
await insertEvent(pool, 'asset-eip155:1/erc20:0x02@acme', 1, 'AssetRegistered', asset('0x02', 'testnet'))
const EXPECTED = [
  ...ids.flatMap((id) => [`evt_transaction-${id}.1`, `evt_transaction-${id}.3`]),
  'evt_asset-eip155:1/erc20:0x01@acme.1',
]

t.test('pages of any size have every event of the tenant and the environment once, in order', async (t) => {
  for (const limit of [1, 2, 5, 1_000])
    t.strictSame(
      (await readAll(limit)).map(({ id }) => id),
      EXPECTED,
      `pages of ${limit}`,
    )
  const testnet = await page('', KEYS.testnet)
  t.strictSame(
    testnet.events.map(({ id, environment }) => [id, environment]),
    [['evt_asset-eip155:1/erc20:0x02@acme.1', 'testnet']],
  )
})

t.test('data is the resource as of the event, and null without the scope of its route', async (t) => {
  const [requested, cancelled] = (await page('limit=2')).events
  t.match(requested, { type: 'transaction.requested', resource: { type: 'transaction', id: ids[0], version: 1 } })
  t.match(requested?.data, { transaction_id: ids[0], state: 'requested', status: 'pending' })
  t.match(cancelled?.data, { transaction_id: ids[0], state: 'cancelled' })
  t.notOk('required_confirmations' in (requested?.data ?? {}), 'nothing depends on the settings')
})

t.test('a cursor of nobody, of another tenant or environment is refused', async (t) => {
  for (const after of ['evt_wallet-wal_nobody.1', 'evt_asset-eip155:1/erc20:0x02@acme.1']) {
    const answer = await send({ url: `/v1/events?after=${encodeURIComponent(after)}` })
    t.strictSame([answer.status, ...told(answer)], [422, 'after unknown_event'], after)
  }
  const refusals = {
    'after=nothing': 'after invalid_id',
    'wait=61': 'wait too_large',
    'limit=0': 'limit too_small',
    'limit=1001': 'limit too_large',
    'types=transaction.mind': 'types unknown_event_type',
    'types=': 'types unknown_event_type',
    'resource=': 'resource invalid_text',
    'from=1': 'from unknown_query_parameter',
  }
  for (const [query, expected] of Object.entries(refusals)) {
    const answer = await send({ url: `/v1/events?${query}` })
    t.strictSame([answer.status, ...told(answer)], [422, expected], query)
  }
  const misspelt = await send({ url: '/v1/events?types=transaction.mined,transaction.confirmd' })
  t.match(misspelt.body.message, /"transaction.confirmd" is not one. Did you mean transaction.confirmed\?/)
  const headers = { accept: 'text/event-stream', 'last-event-id': 'evt_wallet-wal_nobody.1' }
  t.strictSame(told(await send({ url: '/v1/events', headers })), ['Last-Event-ID unknown_event'])
})

t.test('filters keep the order, and the cursor moves on where nothing matches', async (t) => {
  const cancelled = await readAll(1, '&types=transaction.cancelled,asset.registered')
  t.strictSame(
    cancelled.map(({ id }) => id),
    EXPECTED.filter((id) => !id.endsWith('.1') || id.startsWith('evt_asset')),
  )
  const one = await readAll(1_000, `&resource=${ids[1]}`)
  t.strictSame(
    one.map(({ id }) => id),
    [`evt_transaction-${ids[1]}.1`, `evt_transaction-${ids[1]}.3`],
  )
  const nothing = await page('types=wallet.archived')
  t.strictSame([nothing.events, nothing.has_more, nothing.next_after], [[], false, EXPECTED.at(-1)])
  t.strictSame(await page(`after=${encodeURIComponent(EXPECTED.at(-1) ?? '')}`), {
    events: [],
    next_after: EXPECTED.at(-1) ?? '',
    has_more: false,
  })
})

t.test('a request that waits is answered with the first event that matches', async (t) => {
  const after = encodeURIComponent(EXPECTED.at(-1) ?? '')
  const waiting = page(`after=${after}&types=transaction.cancelled&wait=60`)
  const [id] = await transfers(1)
  t.strictSame(
    (await waiting).events.map((event) => event.id),
    [`evt_transaction-${id}.3`],
  )
})

t.test('a stream begins at the oldest event, goes on with new ones, and resumes by Last-Event-ID', async (t) => {
  const before = (await readAll(1_000)).map(({ id }) => id)
  const first = await stream()
  t.match(first.response.headers, { 'content-type': /^text\/event-stream/, 'cache-control': 'no-store' })
  t.strictSame(
    (await first.events(before.length)).map(({ id }) => id),
    before,
  )
  const [id] = await transfers(1)
  const live = (await first.events(2)).map((event) => event.id)
  t.strictSame(live, [`evt_transaction-${id}.1`, `evt_transaction-${id}.3`])
  first.close()
  const resumed = await stream(`after=${encodeURIComponent(before[0] ?? '')}`, { 'last-event-id': live[0] ?? '' })
  const [next] = await resumed.events(1)
  t.equal(next?.id, live[1], 'the header comes before the query')
  resumed.close()
})

t.test('no event appears behind a reader, although its transaction commits late', async (t) => {
  const after = (await page('limit=1000')).next_after ?? ''
  const live = await stream(`after=${encodeURIComponent(after)}`)
  const late = await pool.connect()
  await late.query('BEGIN')
  await insertEvent(late as never, 'asset-eip155:1/erc20:0x03@acme', 1, 'AssetRegistered', asset('0x03', 'mainnet'))
  const [id] = await transfers(1)
  t.strictSame((await page(`after=${encodeURIComponent(after)}`)).events, [], 'nothing overtakes it')
  await late.query('COMMIT')
  late.release()
  // Announced by nobody: the next append wakes the readers.
  await transfers(1)
  const seen = (await live.events(5)).map((event) => event.id)
  t.strictSame(seen.slice(0, 3), [
    'evt_asset-eip155:1/erc20:0x03@acme.1',
    `evt_transaction-${id}.1`,
    `evt_transaction-${id}.3`,
  ])
  live.close()
})

t.test('a key and a process have a limited number of streams and waiting requests', async (t) => {
  const stage = await withFeed(t, { streams: { ofKey: 2, ofProcess: 3 } })
  const gauge = async () =>
    (await stage.metrics.registry.getSingleMetric('bursar_feed_streams')?.get())?.values[0]?.value
  const opened = async (count: number) => {
    // The server notices a client that left when its connection closes.
    while ((await gauge()) !== count) await new Promise(setImmediate)
  }
  const ask = (key: string, query = '', accept = 'text/event-stream') =>
    stage.send({ url: `/v1/events${query}`, headers: { accept, authorization: `Bearer ${key}` } })
  const asOther = { authorization: `Bearer ${KEYS.listener}` }

  const first = await stage.stream()
  const waiting = stage.page('types=wallet.archived&wait=60')
  await opened(2)
  for (const refused of [await ask(KEYS.full), await ask(KEYS.full, '?wait=60&types=wallet.archived', '*/*')]) {
    t.strictSame([refused.status, ...told(refused)], [429, '- too_many_streams'])
    t.match(refused.body.message, /The API key has 2 .*close one of them.*MAX_EVENT_STREAMS_PER_KEY/)
  }
  t.equal((await stage.page('limit=1')).has_more, false, 'a page needs no stream')

  const other = await stage.stream('', asOther)
  await opened(3)
  const full = await ask(KEYS.listener)
  t.strictSame([full.status, ...told(full)], [429, '- too_many_streams'])
  t.match(full.body.message, /The process has 3 .*try again later/)
  for (const { close } of [first, other]) close()
  await opened(1)
  const again = await stage.stream('', asOther)
  await stage.transfers(1)
  t.equal((await again.events(2)).length, 2)
  again.close()
  await stage.app.close()
  t.strictSame((await waiting).events, [])
  await opened(0)
})

t.test('all keys of one tenant leave streams of the process to others', async (t) => {
  const stage = await withFeed(t, { streams: { ofKey: 4, ofProcess: 8 } })
  const as = (key: string) => ({ authorization: `Bearer ${key}` })
  const opened = []
  for (const key of [...Array(4).fill(KEYS.full), ...Array(3).fill(KEYS.listener)])
    opened.push(await stage.stream('', as(key)))
  const headers = { accept: 'text/event-stream', ...as(KEYS.listener) }
  const refused = await stage.send({ url: '/v1/events', headers })
  t.strictSame([refused.status, ...told(refused)], [429, '- too_many_streams'])
  t.match(refused.body.message, /Your API keys have 7 /)
  opened.push(await stage.stream('', as(KEYS.cold)))
  for (const { close } of opened) close()
})

t.end()
