/** Event streams on bad days: readers of different speeds, a ring that is too small, keys that end, a process that stops. */
import t, { type Test } from 'tap'
import type { FeedStream } from '../support/event-stream.ts'
import { type FeedStage, withFeed } from '../support/feed-stage.ts'
import { KEYS } from '../support/http.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { eventually } from '../support/sandbox-eventually.ts'

/** The ids in the order of the log, as the log has them. */
async function expectedIds({ pool }: FeedStage): Promise<string[]> {
  const { rows } = await pool.query<{ readonly id: string }>(
    `SELECT 'evt_' || stream_id || '.' || stream_version AS id FROM events
      WHERE metadata->>'tenantId' = 'acme' AND type <> 'CancellationRequested' ORDER BY events.transaction_id, position`,
  )
  return rows.map(({ id }) => id)
}

async function readIds(stream: FeedStream, count: number): Promise<string[]> {
  return (await stream.events(count)).map(({ id }) => id)
}

/** Appends of several writers at once, and of another tenant. */
async function appendMany({ transfers }: FeedStage, count: number): Promise<void> {
  await Promise.all([transfers(count), transfers(count), transfers(count, 'globex'), transfers(count)])
}

for (const [size, ringBytes] of [
  ['of its size', 16 * 1_024 * 1_024],
  ['with room for a few events', 20_000],
] as const) {
  t.test(`readers that come at any time get the same events once, with a ring ${size}`, async (t: Test) => {
    const stage = await withFeed(t, { ringBytes })
    await appendMany(stage, 10)
    const first = await stage.stream()
    const appending = appendMany(stage, 40)
    // Readers come while the log grows: each begins with pages and goes over to the ring.
    const readers = [first]
    for (let n = 0; n < 8; n += 1) {
      readers.push(await stage.stream())
      await first.events(5)
    }
    await appending
    const expected = await expectedIds(stage)
    t.equal(expected.length, 2 * 3 * 50)
    const [early, ...others] = readers
    await early?.events(expected.length - 8 * 5)
    for (const reader of others) t.strictSame(await readIds(reader, expected.length), expected)
    // A reader that comes again continues anywhere.
    for (const n of [0, 7, expected.length - 2]) {
      const resumed = await stage.stream('', { 'last-event-id': expected[n] ?? '' })
      t.strictSame(await readIds(resumed, expected.length - n - 1), expected.slice(n + 1), `after event ${n}`)
      resumed.close()
    }
    for (const reader of readers) reader.close()
  })
}

/** Until so many streams and requests that wait are counted: these have read what there was. */
async function opened({ metrics }: FeedStage, count: number): Promise<void> {
  await eventually(async () => {
    const gauge = await metrics.registry.getSingleMetric('bursar_feed_streams')?.get()
    return gauge?.values[0]?.value === count || undefined
  })
}

t.test('a heartbeat carries the position that was scanned, and a client continues there', async (t: Test) => {
  const stage = await withFeed(t, { times: { heartbeatMs: 20, stallMs: 60_000 } })
  await stage.transfers(1)
  const stream = await stage.stream('types=wallet.archived')
  const [first] = await expectedIds(stage)
  const seen = new Set<string>()
  for (let block = await stream.next(); seen.size < 1; block = await stream.next()) if (block?.id) seen.add(block.id)
  const [id] = await stage.transfers(1)
  // The end of the event of the log: no public event of it can come later.
  const last = `evt_transaction-${id}.3~1`
  for (let block = await stream.next(); !seen.has(last); block = await stream.next()) {
    t.equal(block?.data, undefined)
    if (block?.id) seen.add(block.id)
  }
  stream.close()
  t.notOk(seen.has(first ?? ''), 'the events before were scanned together')
  const page = await stage.page(`after=${encodeURIComponent(last)}`)
  t.strictSame(page.events, [])
})

for (const state of ['revoked', 'expired'] as const) {
  t.test(`a stream ends at the heartbeat after its key is ${state}, and not while nobody can tell`, async (t: Test) => {
    const stage = await withFeed(t, { times: { heartbeatMs: 20, stallMs: 60_000 } })
    const stream = await stage.stream()
    stage.key.state = 'unknown'
    const [id] = await stage.transfers(1)
    // Heartbeats come while the database does not answer for the key, and events that can be read.
    t.equal((await stream.events(2)).at(-1)?.id, `evt_transaction-${id}.3`)
    for (let beats = 0; beats < 3; beats += 1) t.ok(await stream.next())
    stage.key.state = state
    let block = await stream.next()
    while (block !== null) block = await stream.next()
    t.equal(stream.response.complete, true, 'it is ended, not cut off')
  })
}

t.test('a request that waits gets no event if its key was revoked meanwhile', async (t: Test) => {
  const stage = await withFeed(t)
  await stage.transfers(1)
  const { next_after: after } = await stage.page('limit=1000')
  const waiting = stage.send({
    url: `/v1/events?after=${encodeURIComponent(after ?? '')}&wait=60`,
    headers: { authorization: `Bearer ${KEYS.full}` },
  })
  await opened(stage, 1)
  stage.key.state = 'revoked'
  await stage.transfers(1)
  const { status, body } = await waiting
  matchExactly(t, [status, body.errors], [401, [{ code: 'api_key_invalid' }]])
})

t.test('a process that stops tells its readers to reconnect, and answers those that wait', async (t: Test) => {
  const stage = await withFeed(t)
  await stage.transfers(1)
  const stream = await stage.stream()
  const [last] = (await stream.events(2)).slice(-1)
  const waiting = stage.page(`after=${encodeURIComponent(last?.id ?? '')}&wait=60`)
  await opened(stage, 2)
  await stage.app.close()
  t.strictSame(await stream.next(), { retry: '1000' })
  t.equal(await stream.next(), null)
  t.strictSame((await waiting).events, [])
})

t.test('a client that does not read is given up', async (t: Test) => {
  const stage = await withFeed(t, { times: { heartbeatMs: 15_000, stallMs: 200 } })
  // More than the buffers of both sides hold: 40 MB.
  await stage.pool.query(
    `INSERT INTO events (stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash)
     SELECT 'asset-eip155:1/erc20:0x' || n || '@acme', 1, 'AssetRegistered', 1,
            jsonb_build_object('assetId', n::text, 'environment', 'mainnet', 'name', repeat('x', 20000),
                               'registeredAt', '2026-01-01T00:00:00.000Z'),
            '{"tenantId": "acme", "actor": "test"}', now(), decode(repeat('ab', 32), 'hex')
       FROM generate_series(1, 2000) AS n`,
  )
  const reading = await stage.stream()
  const [first] = await reading.events(1)
  const idle = await stage.stream()
  idle.response.on('error', () => undefined).socket.pause()
  const count = async () =>
    (await stage.metrics.registry.getSingleMetric('bursar_feed_streams')?.get())?.values[0]?.value
  t.equal(await count(), 2)
  t.equal((await reading.events(1_999)).length, 1_999, 'one that reads gets everything')
  while ((await count()) !== 1) await new Promise(setImmediate)
  t.type(first?.id, 'string')
  reading.close()
  idle.close()
})

t.test('the lag of streams is told while the log cannot be read, and gone afterwards', async (t: Test) => {
  const stage = await withFeed(t)
  const { pool, clock, problem } = stage
  const lag = async () => (await stage.metrics.registry.getSingleMetric('bursar_feed_lag_seconds')?.get())?.values[0]
  clock.laterMs = 60_000
  t.equal(problem(), null, 'nobody is behind without streams')
  const stream = await stage.stream()
  await pool.query('ALTER TABLE events RENAME TO away')
  clock.laterMs = 120_000
  while (problem() === null) await new Promise(setImmediate)
  t.match(problem(), /^Event streams are \d+ s behind the log: .*"events" does not exist\.$/)
  t.ok(Number((await lag())?.value) > 30)
  await pool.query('ALTER TABLE away RENAME TO events')
  const [id] = await stage.transfers(1)
  t.equal((await stream.events(2)).at(-1)?.id, `evt_transaction-${id}.3`)
  while (problem() !== null) await new Promise(setImmediate)
  t.equal((await lag())?.value, 0)
  stream.close()
})

t.test('data needs the scope of the route that shows the same facts', async (t: Test) => {
  const stage = await withFeed(t)
  await stage.transfers(1)
  const { events } = await stage.page('', KEYS.listener)
  t.strictSame(
    events.map(({ type, data }) => [type, data]),
    [
      ['transaction.requested', null],
      ['transaction.cancelled', null],
    ],
  )
  const stream = await stage.stream('', { authorization: `Bearer ${KEYS.listener}` })
  t.strictSame(await stream.events(2), events)
  stream.close()
})
