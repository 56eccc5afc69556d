/**
 * What an append accepts from whoever has the login of one process: events that continue their streams, whose hash is that
 * of their stored bytes.
 */
import t, { type Test } from 'tap'
import { walletAggregate } from '../../src/wallets/aggregate.ts'
import { loginAs } from '../support/database-login.ts'
import { withDatabase } from '../support/postgres.ts'
import {
  appendRaw,
  countOf,
  outcomesOf,
  type RawEvent,
  rawEvent,
  rawRelabelling,
  rawRequest,
} from '../support/raw-events.ts'

const NO_EVENT_OF_ITS_STREAM = { code: 'BU003' }
const NOT_ALLOWED = { code: '42501' }
const NOT_JSON = { code: '22P02' }

async function withApi(t: Test) {
  const database = await withDatabase(t)
  return { ...database, api: await loginAs(t, database, 'api') }
}

t.test('an event with a hash that is not that of its content is refused, from the owner too', async (t) => {
  const { pool, api } = await withApi(t)
  const right = rawRequest()
  for (const hash of ['', '00', '0'.repeat(64), rawRequest().hash])
    for (const login of [api, pool]) await t.rejects(appendRaw(login, [rawRequest({}, hash)]), NO_EVENT_OF_ITS_STREAM)
  const { streamId } = right
  const changed: Partial<RawEvent>[] = [
    { data: '{"amount":"1"}' },
    { data: '{ }' },
    { metadata: '{"actor":"test","tenantId":"other"}' },
    { recordedAt: '2026-01-01T00:00:00.001Z' },
    { recordedAt: '2026-01-01T00:00:00.000+01:00' },
    { schemaVersion: 2 },
    { type: 'WatchStarted' },
    { streamId: `${streamId}0` },
  ]
  for (const one of changed)
    await t.rejects(
      appendRaw(pool, [rawEvent({ streamId, type: 'WalletRequested', ...one }, right.hash)]),
      NO_EVENT_OF_ITS_STREAM,
      JSON.stringify(one),
    )
  for (const recordedAt of ['infinity', '-infinity', '2026-01-01 00:00:00 BC', '+010000-01-01T00:00:00.000Z'])
    t.not((await outcomesOf(appendRaw(api, [rawRequest({ recordedAt })])))[0], 'accepted', recordedAt)
  t.equal(await countOf(pool), 0)
  await appendRaw(api, [right])
  t.equal(await countOf(pool), 1)
})

t.test('an event is accepted only behind the event of its stream that it names', async (t) => {
  const { pool, api } = await withApi(t)
  const [first, other] = [rawRequest(), rawRequest()]
  await appendRaw(api, [first, other])
  const refused = (event: { readonly json: string }) => outcomesOf(appendRaw(api, [event]))
  t.strictSame(await refused(rawRelabelling(first, { namesPrevious: false })), ['BU003'], 'it names none')
  t.strictSame(await refused(rawRelabelling(first, { previous: '' })), ['BU003'], 'it has none')
  t.strictSame(
    await refused(rawRelabelling(first, { previous: other.hash })),
    ['0 stream_conflict'],
    'of another stream',
  )
  t.strictSame(await refused(rawRelabelling(rawRequest())), ['0 stream_conflict'], 'of a stream that does not exist')
  for (const streamVersion of [3, 2_000_000_000])
    t.strictSame(
      await refused(rawRelabelling(first, { streamVersion })),
      ['0 stream_conflict'],
      `version ${streamVersion}`,
    )
  for (const streamVersion of [0, -1])
    t.strictSame(await refused(rawRelabelling(first, { streamVersion })), ['BU003'], `version ${streamVersion}`)
  t.strictSame(await refused(rawRequest({ previous: first.hash })), ['BU003'], 'a first event that names one')
  t.strictSame(await refused(rawRequest({ streamVersion: 0 })), ['BU003'], 'version 0')
  t.equal(await countOf(pool), 2)
  await appendRaw(api, [rawRelabelling(first)])
  t.equal(await countOf(pool), 3)
})

t.test('the events of one call continue each other without a gap, each within its commit', async (t) => {
  const { pool, api } = await withApi(t)
  const first = rawRequest()
  const second = rawRelabelling(first, { namesPrevious: false })
  const third = (replaced: Partial<RawEvent> = {}) =>
    rawRelabelling({ ...first, hash: second.hash }, { streamVersion: 3, namesPrevious: false, ...replaced })
  const gap = rawRelabelling(first, { streamVersion: 3, namesPrevious: false })
  await t.rejects(appendRaw(api, [first, gap]), NO_EVENT_OF_ITS_STREAM, 'a gap')
  await t.rejects(appendRaw(api, [first, second, third({ previous: first.hash })]), NO_EVENT_OF_ITS_STREAM)
  await t.rejects(appendRaw(api, [first, second, third({ commit: 1 })]), NO_EVENT_OF_ITS_STREAM, 'of another commit')
  await t.rejects(appendRaw(api, [first, second, second]), { code: /^(BU003|23505)$/ }, 'twice')
  t.equal(await countOf(pool), 0)
  await appendRaw(api, [third(), first, second])
  t.equal(await countOf(pool), 3, 'in any order')
})

t.test('a role appends no type of another role, and no schema version that no program reads', async (t) => {
  const { pool, api } = await withApi(t)
  const newest = walletAggregate.schemas.WalletRequested.version
  await t.rejects(appendRaw(api, [rawRequest({ type: 'WalletCreated' })]), NOT_ALLOWED)
  for (const schemaVersion of [-1, 0, newest + 1, 2_000_000_000])
    await t.rejects(appendRaw(api, [rawRequest({ schemaVersion })]), NOT_ALLOWED, `schema version ${schemaVersion}`)
  for (let schemaVersion = 1; schemaVersion <= newest; schemaVersion += 1)
    await appendRaw(api, [rawRequest({ schemaVersion })])
  t.equal(await countOf(pool), newest)
  const { rows } = await pool.query(
    'SELECT role FROM role_rights WHERE cardinality(events) <> cardinality(schema_versions) OR 0 = ANY (schema_versions)',
  )
  t.strictSame(rows, [], 'each event of each role has a newest version')
})

t.test('JSON that two readers could read differently is refused', async (t) => {
  const { pool, api } = await withApi(t)
  const twice = ['{"a":1,"a":1}', '{"a":1,"\\u0061":2}', '{"a":{"b":[{"c":1,"c":2}]}}', '{"__proto__":1,"__proto__":2}']
  const noText = ['{"a":"\\u0000"}', '{"a\\u0000":1}', '{"a":"\\ud800"}', '{"a":"\\udc00\\ud800"}']
  for (const text of [...twice, ...noText]) {
    await t.rejects(appendRaw(api, [rawRequest({ data: text })]), NOT_JSON, text)
    await t.rejects(appendRaw(api, [rawRequest({ metadata: text })]), NOT_JSON, text)
  }
  for (const text of ['[]', '1', '"a"', 'true', '{"a":\n1}', '{"a":\r1}'])
    await t.rejects(appendRaw(api, [rawRequest({ data: text })]), NO_EVENT_OF_ITS_STREAM, text)
  for (const text of ['null', '{"a":1', "{'a':1}", '{"a":"\u0001"}'])
    t.not((await outcomesOf(appendRaw(api, [rawRequest({ data: text })])))[0], 'accepted', text)
  await t.rejects(appendRaw(api, [{ json: rawRequest().json.replace('{', '{"commit":1,') }]), NOT_JSON)
  t.equal(await countOf(pool), 0)
  const alike = ['{}', '{"a":{"a":[{"a":1},{"a":2}]}}', '{"a":"\\u0001\\ud83d\\ude00","b":"\\\\u0000"}', '[]', '"a"']
  const { rows } = await pool.query(
    'SELECT text, reads_alike(text::json) AS alike, reads_alike_by_walk(text::json) AS walked FROM unnest($1::text[]) AS text',
    [[...twice, ...noText, ...alike]],
  )
  for (const { text, alike: said, walked } of rows)
    t.strictSame([said, walked], Array(2).fill(alike.includes(text)), text)
})

t.test('a commit that was appended before is recognised, alone and among others', async (t) => {
  const { pool, api } = await withApi(t)
  const first = rawRequest()
  const second = rawRelabelling(first, { namesPrevious: false })
  await appendRaw(api, [first, second])
  t.strictSame(await outcomesOf(appendRaw(api, [first, second])), ['0 appended_before', '0 appended_before'])
  const fresh = rawRequest({ commit: 1 })
  t.strictSame(await outcomesOf(appendRaw(api, [first, second, fresh])), ['0 appended_before', '0 appended_before'])
  const third = rawRelabelling({ ...first, hash: second.hash }, { streamVersion: 3 })
  await appendRaw(api, [third])
  t.strictSame(await outcomesOf(appendRaw(api, [third])), ['0 appended_before'])
  const rival = rawRelabelling({ ...first, hash: second.hash }, { streamVersion: 3, data: '{"rival":true}' })
  t.strictSame(await outcomesOf(appendRaw(api, [rival])), ['0 stream_conflict'])
  t.equal(await countOf(pool), 3)
})

t.test('an append finds the same environment of a mint as the function that reads any event', async (t) => {
  const { pool } = await withDatabase(t)
  const event = (streamId: string, data: string) => rawEvent({ streamId, type: 'Any', data })
  await appendRaw(pool, [event('collection-col_t', '{"environment":"testnet"}'), event('wallet-wal_m', '{}')])
  const asked = [
    ['mint-of-collection', '{"collectionId":"col_t"}', 'testnet'],
    ['mint-of-wallet', '{"collectionId":"col_t","walletId":"wal_m"}', 'mainnet'],
    ['mint-of-nobody', '{"collectionId":"col_t","walletId":null}', 'mainnet'],
    ['mint-itself', '{"collectionId":"col_t","environment":"mainnet"}', 'mainnet'],
    ['mint-escaped', '{"collectionId":"col_t","\\u0065nvironment":"mainnet"}', 'mainnet'],
    ['mint-unknown', '{"collectionId":"col_none"}', 'mainnet'],
    ['mint-of-new', '{"collectionId":"col_new"}', 'testnet'],
  ] as const
  const added = asked.map(([streamId, data]) => event(streamId, data))
  await appendRaw(pool, [event('collection-col_new', '{"environment":"testnet"}'), ...added])
  const { rows } = await pool.query(
    `SELECT stream_id, environment, environment_of_event(stream_id, data::jsonb) AS derived FROM events
      WHERE stream_id LIKE 'mint-%'`,
  )
  const stored = new Map(rows.map((row) => [row.stream_id, row]))
  for (const [streamId, , environment] of asked) {
    const { derived, ...row } = stored.get(streamId)
    t.equal(row.environment, environment, streamId)
    t.equal(derived, environment, streamId)
  }
})
