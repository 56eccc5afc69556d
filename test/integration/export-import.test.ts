/** An exported log is identical after an import: its events, its order, and everything derived from it. */
import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import t, { type Test } from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { createEventLog } from '../../src/event-log/log.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { LOG_START, readAfter } from '../../src/event-log/subscription.ts'
import { createWakeUps } from '../../src/event-log/wake-ups.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { exported, imported, readModels } from '../support/log-file.ts'
import { withDatabase } from '../support/postgres.ts'
import { withSomeLog } from '../support/some-log.ts'

const EVENTS = `SELECT position, stream_id, stream_version, type, schema_version, data::text, metadata::text, recorded_at, encode(hash, 'hex') AS hash
  FROM events ORDER BY events.transaction_id, position`

async function withExport(t: Test) {
  const some = await withSomeLog(t)
  await some.transfer(30)
  return { some, lines: await exported(some.pool) }
}

/** The lines with a valid digest at their end, after any change. */
function signed(lines: readonly string[]): string[] {
  const body = lines.slice(0, -1)
  const sha256 = createHash('sha256')
    .update(body.map((line) => `${line}\n`).join(''))
    .digest('hex')
  const rows = body.filter((line) => line.startsWith('{"table"')).length
  return [...body, JSON.stringify({ events: body.length - 1 - rows, rows, sha256 })]
}

async function isEmpty(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query('SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM transactions) AS n')
  return rows[0].n === '0'
}

t.test('an import has the same events in the same order, and byte-equal read models', async (t: Test) => {
  const { some, lines } = await withExport(t)
  await some.pool.query(`INSERT INTO chain_cursors VALUES (1, 7, '0xb7', 9, now())`)
  await some.pool.query(`INSERT INTO chain_blocks VALUES (1, 7, '0xb7', '0xb6', 1770000000)`)
  const whole = await exported(some.pool)
  t.equal(whole.length, lines.length + 2, 'the export contains the cursors of the chain')
  const { pool } = await withDatabase(t)
  const { events } = await imported(pool, whole)
  t.equal(events, lines.length - 2)
  t.strictSame((await pool.query(EVENTS)).rows, (await some.pool.query(EVENTS)).rows)
  t.strictSame(await readModels(pool), await readModels(some.pool))
  for (const table of ['chain_cursors', 'chain_blocks']) {
    t.strictSame(
      (await pool.query(`SELECT * FROM ${table}`)).rows,
      (await some.pool.query(`SELECT * FROM ${table}`)).rows,
    )
  }
  t.strictSame((await compareLive(pool, LOG_CONTENTS)).differences, [])
  t.strictSame((await exported(pool)).map(withoutIds), whole.map(withoutIds), 'both exports are equal')
})

/** Transaction ids differ between clusters, and the digest covers them. */
function withoutIds(line: string): string {
  return line.replace(/"transaction_id":"\d+"/, '').replace(/"sha256":.*/, '')
}

t.test('what is appended after an import comes after it, and a subscription sees all of it once', async (t: Test) => {
  const { some } = await withExport(t)
  // Like in a cluster with far more transactions, whose commits often overtook each other.
  await some.pool.query('ALTER TABLE events DISABLE TRIGGER ALL')
  await some.pool.query('UPDATE events SET transaction_id = (9000000000 + (position * 7919) % 100003)::text::xid8')
  const whole = await exported(some.pool)
  const { pool, url } = await withDatabase(t)
  await imported(pool, whole)
  t.strictSame((await pool.query(EVENTS)).rows, (await some.pool.query(EVENTS)).rows, 'the order is the same')
  const wakeUps = createWakeUps(pool, url)
  t.after(() => wakeUps.close())
  const log = createEventLog({ pool, wakeUps, clock: Date.now })
  const waiting = (await pool.query(`SELECT transaction_id FROM transactions WHERE state = 'signed' LIMIT 1`)).rows[0]
  const now = '2026-01-01T00:00:00.000Z'
  const metadata = { tenantId: 'acme', actor: 'test' }
  await log.execute(transactionAggregate, waiting.transaction_id, { type: 'RequestCancellation', now }, { metadata })
  const { events } = await readAfter(pool, LOG_START, 10_000)
  t.equal(events.length, whole.length - 1)
  t.equal(events.at(-1)?.type, 'CancellationRequested')
  t.strictSame((await compareLive(pool, LOG_CONTENTS)).differences, [])
})

t.test('ids of an import stay below those that the cluster still gives, however many it needs', async (t: Test) => {
  const { some } = await withExport(t)
  await some.pool.query('ALTER TABLE events DISABLE TRIGGER ALL')
  const { pool } = await withDatabase(t)
  const { rows } = await pool.query<{ next: string }>('SELECT pg_current_xact_id()::text AS next')
  // Each event is before all those of lower positions, so every one needs its own id.
  await some.pool.query('UPDATE events SET transaction_id = (100000 - position)::text::xid8')
  await some.pool.query(
    `INSERT INTO events (stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash, environment, transaction_id)
     SELECT 'chain-x-' || n, 1, 'FollowerAdvanced', 1, '{}', '{"tenantId":"system"}', now(), '\\x00', 'mainnet', (90000 - n)::text::xid8
       FROM generate_series(1, $1::int) AS n`,
    [Number(rows[0]?.next) + 500],
  )
  const whole = await exported(some.pool)
  await imported(pool, whole).then(
    () => t.fail('the import accepted events with wrong hashes'),
    (error) => t.match(error, { code: 'broken_chain' }),
  )
  t.ok(await isEmpty(pool))
  await imported(pool, whole, false)
  t.equal((await readAfter(pool, LOG_START, 100_000)).events.length, whole.length - 2, 'all events can be read')
})

t.test('a file that lost something, or had something changed, is refused and nothing stays', async (t: Test) => {
  const { lines } = await withExport(t)
  const { pool } = await withDatabase(t)
  const flipped = lines.map((line, n) => (n === 5 ? line.replace(/"recorded_at":"2026/, '"recorded_at":"2025') : line))
  const cases: readonly (readonly [name: string, lines: readonly string[], message: RegExp])[] = [
    ['no line', [], /empty/],
    ['something else', ['{"hello":1}'], /not an export of the event log/],
    ['words', ['hello'], /not an export of the event log/],
    ['a cut end', lines.slice(0, -1), /truncated after line/],
    ['a cut line', [...lines.slice(0, 7), lines[7]?.slice(0, 40) ?? ''], /Line 8 is truncated/],
    ['a changed byte', flipped, /The export was changed/],
    ['a changed byte and a digest to fit', signed(flipped), /Event \d+ \(.*version \d+\) does not have the hash/],
    ['an event taken out, and a digest to fit', signed(lines.filter((_, n) => n !== 10)), /hash|missing/],
    [
      'two events changed over',
      signed([...lines.slice(0, 5), lines[6] ?? '', lines[5] ?? '', ...lines.slice(7)]),
      /is out of order/,
    ],
    ['a line after the end', [...lines, lines[3] ?? ''], /after the end/],
    ['a newer format', signed([lines[0]?.replace('"version":1', '"version":2') ?? '', ...lines.slice(1)]), /version 2/],
    [
      'a row of another table',
      signed([...lines.slice(0, -1), '{"table":"leases","row":{}}', '']),
      /neither an event nor a row/,
    ],
    [
      'an event of a later version',
      signed(lines.map((line) => line.replace('"schema_version":2', '"schema_version":9'))),
      /hash|schema version 9/,
    ],
  ]
  for (const [name, broken, message] of cases) {
    await t.rejects(imported(pool, broken), { message }, name)
    t.ok(await isEmpty(pool), `${name}: the database stays empty`)
  }
  await imported(pool, lines)
  await t.rejects(imported(pool, lines), { code: 'log_not_empty' }, 'a second import is refused')
})

t.test('a line that two programs could read differently is refused, whatever its digest says', async (t: Test) => {
  const { lines } = await withExport(t)
  const { pool } = await withDatabase(t)
  const at = lines.findIndex((line) => line.includes('"type":"TransferRequested"'))
  const withLine = (change: (line: string) => string) =>
    signed(lines.map((line, n) => (n === at ? change(line) : line)))
  const last = (line: string, members: string) => `${line.slice(0, -1)},${members}}`
  const cases: readonly (readonly [name: string, change: (line: string) => string, message: RegExp])[] = [
    [
      'a member of the event twice',
      (line) => last(line, `"stream_id":${JSON.stringify(JSON.parse(line).stream_id)}`),
      /"stream_id" twice/,
    ],
    ['written in two ways', (line) => last(line, `"t\\u0079pe":"TransferRequested"`), /"type" twice/],
    ['a member of its data twice', (line) => line.replace('"data":{', '"data":{"amount":"1",'), /"amount" twice/],
    ['within a list', (line) => line.replace('"data":{', '"data":{"x":[{"a":1,"b":[],"a":1}],'), /"a" twice/],
    [
      'a member of its metadata twice',
      (line) => line.replace('"metadata":{', '"metadata":{"tenantId":"globex",'),
      /"tenantId" twice/,
    ],
    ['NUL in its data', (line) => line.replace('"data":{', '"data":{"x":"\\u0000",'), /cannot store/],
    ['half a character', (line) => line.replace('"data":{', '"data":{"x":"\\uD83D",'), /cannot store/],
    ['the id that an import gives', (line) => last(line, '"imported_id":"1"'), /imported_id/],
    ['a member that no event has', (line) => last(line, '"extra":1'), /extra/],
  ]
  for (const [name, change, message] of cases) {
    await t.rejects(imported(pool, withLine(change)), { code: 'bad_export', message }, name)
    t.match(await imported(pool, withLine(change)).catch((error: Error) => error.message), `Line ${at + 1} `, name)
    t.ok(await isEmpty(pool), `${name}: the database stays empty`)
  }
  await t.rejects(imported(pool, [lines[0]?.replace('{', '{"whole":false,') ?? '', ...lines.slice(1)]), /"whole" twice/)
  await imported(pool, lines)
})

t.test('a part of a log is marked as such, and is not taken for a log', async (t: Test) => {
  const { some, lines } = await withExport(t)
  const { pool } = await withDatabase(t)
  const positions = lines.slice(1, -1).map((line) => BigInt(JSON.parse(line).position))
  const [from = 0n, to = 0n] = [positions[3], positions[9]]
  const part = await exported(some.pool, { from, to })
  t.strictSame(part.slice(1, -1), lines.slice(4, 11))
  await t.rejects(imported(pool, part), { message: new RegExp(`part of the event log \\(from ${from}, to ${to}\\)`) })
  t.equal((await exported(some.pool, { tenant: 'nobody' })).length, 2)
  t.equal((await exported(some.pool, { tenant: 'acme' })).length, lines.length)
  t.equal((await exported(some.pool, { to: new Date('2025-01-01') })).length, 2)
  await t.rejects(exported(some.pool, { from: 99_999n }), { code: 'unknown_position' })
})
