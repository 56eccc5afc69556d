/**
 * Every reader of whole events accepts what an append accepts, byte for byte, and the events of older versions, whose bytes
 * were not stored.
 */
import type { Pool } from 'pg'
import t, { type Test } from 'tap'
import { createChainCheck } from '../../src/audit/chain/chain-check.ts'
import { readLogRows } from '../../src/audit/chain/log-rows.ts'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { migrateDatabase } from '../../src/compose/migrate-database.ts'
import { decideNew, mustDecideOn } from '../../src/event-log/aggregate.ts'
import { encodeBatch } from '../../src/event-log/append.ts'
import { createEventLog } from '../../src/event-log/log.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { LOG_START, readAfter } from '../../src/event-log/subscription.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { loginAs } from '../support/database-login.ts'
import { newTransactionId, seedWallet, transferIntent } from '../support/log.ts'
import { exported, imported } from '../support/log-file.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { MIGRATIONS, withDatabase, withOlderDatabase } from '../support/postgres.ts'
import { appendRaw, countOf, outcomesOf, rawEvent } from '../support/raw-events.ts'

const CONTEXT = { metadata: { tenantId: 'acme', actor: 'test' }, now: '2026-01-01T00:00:00.000Z' }

/** A log of a process that has this login. */
function logOf(pool: Pool) {
  return createEventLog({ pool, wakeUps: { announce: () => undefined } as never, clock: Date.now, verifies: true })
}

function transfer(id: string, overrides: Parameters<typeof transferIntent>[0] = {}) {
  return decideNew(
    transactionAggregate,
    id,
    { type: 'RequestTransaction', opening: 'TransferRequested', intent: transferIntent(overrides) },
    CONTEXT,
  )
}

/** Valid JSON objects that are not canonical. */
const NOT_CANONICAL = [
  '{ }',
  '{"b":1,"a":2}',
  '{"a" :\t1, "b": [1 , 2]}',
  '{"a":1.0,"b":1e2,"c":-0,"d":0.1,"e":9007199254740993,"f":1e400}',
  '{"a":"\\u0061\\/","b":"\\u20AC"}',
  '{"10":1,"9":2,"":{"\\u0041":null}}',
]

/** What each reader of whole events makes of the log. */
async function readBy(t: Test, pool: Pool, ids: readonly string[]): Promise<void> {
  const rows = await readLogRows(pool, LOG_START, 10_000)
  t.equal(rows.length, await countOf(pool), 'the auditor reads every event')
  t.strictSame(await createChainCheck(pool).check(rows), [], 'the auditor')
  const log = logOf(pool)
  for (const { id, broken } of await log.loadChecked(transactionAggregate, ids)) t.equal(broken, null, `signers: ${id}`)
  for (const id of ids) await log.readStream(transactionAggregate, id)
  t.equal((await readAfter(pool, LOG_START, 10_000)).events.length, rows.length, 'subscriptions')
}

async function replayed(t: Test, pool: Pool): Promise<void> {
  const { differences } = await compareLive(pool, LOG_CONTENTS, { tables: ['transactions', 'wallet_holds'] })
  t.strictSame(differences, [], 'the rows follow from the log')
}

async function reimported(t: Test, from: Pool): Promise<void> {
  const { pool } = await withDatabase(t)
  const lines = await exported(from)
  await imported(pool, lines)
  const eventsOf = (all: readonly string[]) =>
    all.slice(1, -1).map((line) => line.replace(/"transaction_id":"\d+",/, ''))
  t.strictSame(eventsOf(await exported(pool)), eventsOf(lines), 'an import has the same bytes')
}

t.test('bytes that are not canonical are stored as they are, and every reader verifies them', async (t) => {
  const database = await withDatabase(t)
  const { pool } = database
  const api = await loginAs(t, database, 'api')
  await seedWallet(pool, { walletId: 'wal_1', balance: 10n ** 20n })
  const log = logOf(api)
  const ids: string[] = []
  for (const data of NOT_CANONICAL) {
    const id = newTransactionId()
    ids.push(id)
    const made = transfer(id)
    await log.append({ decisions: [made] })
    const streamId = `transaction-${id}`
    const metadata = '{"tenantId":"acme" ,"actor":"\\u0061"}'
    const later = rawEvent({
      streamId,
      streamVersion: 2,
      type: 'CancellationRequested',
      previous: made.after.hash,
      data,
      metadata,
      recordedAt: CONTEXT.now,
    })
    const row = { transaction_id: id, after_version: 1, version: 2, updated_at: CONTEXT.now }
    await appendRaw(api, [later], { transactions: [row] })
    const { rows } = await pool.query(
      'SELECT data::text, metadata::text FROM events WHERE stream_id = $1 AND stream_version = 2',
      [streamId],
    )
    t.strictSame(rows, [{ data, metadata }])
  }
  await readBy(t, pool, ids)
  await reimported(t, pool)
})

t.test('a batch of 64 commits is appended in one call, and refused whole for one wrong hash', async (t) => {
  const database = await withDatabase(t)
  const { pool } = database
  const api = await loginAs(t, database, 'api')
  await seedWallet(pool, { walletId: 'wal_1', balance: 10n ** 20n })
  const ids = Array.from({ length: 64 }, () => newTransactionId())
  const batch = encodeBatch(ids.map((id) => ({ decisions: [transfer(id)] })))
  const append = (events: string) =>
    api.query('SELECT append_commits($1::jsonb, $2::json, $3::jsonb)', [batch[0], events, batch[2]])
  const wrong = batch[1].replace(/("commit":40,"hash":")(.)/, (_, before, first) => `${before}${first === '0' ? 1 : 0}`)
  await t.rejects(append(wrong), { code: 'BU003' })
  t.equal(await countOf(pool), 0)
  await append(batch[1])
  t.equal(await countOf(pool), 64)
  t.strictSame(
    new Set(await outcomesOf(append(batch[1]))),
    new Set(ids.map((_, commit) => `${commit} appended_before`)),
  )
  await readBy(t, pool, ids)
  await replayed(t, pool)
})

t.test('a log from before the bytes were stored goes on, and is read, audited, exported and replayed', async (t) => {
  const { url, pool } = await withOlderDatabase(t, '20261125000300')
  await seedWallet(pool, { walletId: 'wal_1', balance: 10n ** 20n })
  const ids = Array.from({ length: 3 }, () => newTransactionId())
  const memo = { '10': 'é', '9': '\u0001"\\', nested: [{ b: '€😀', a: null }] }
  const before = ids.map((id) => transfer(id, { memo: JSON.stringify(memo) }))
  const batch = encodeBatch([{ decisions: before }])
  await pool.query('SELECT append_commits($1::jsonb, $2::jsonb, $3::jsonb)', batch)
  const settings = { databaseUrl: url, directory: MIGRATIONS, queues: true, logins: [] }
  t.match((await migrateDatabase(pool, settings)).applied[0], /append_verifies$/)
  const api = await loginAs(t, { url, pool }, 'api')
  const cancel = { type: 'RequestCancellation', now: CONTEXT.now } as const
  const [first] = before
  if (first === undefined) throw new Error('nothing was appended')
  const cancelled = mustDecideOn(transactionAggregate, first.after, cancel, CONTEXT)
  const fresh = newTransactionId()
  const log = logOf(api)
  await log.append({ decisions: [cancelled, transfer(fresh)] })
  const all = [...ids, fresh]
  await readBy(t, pool, all)
  await replayed(t, pool)
  await reimported(t, pool)
  await t.rejects(pool.query("UPDATE events SET data = '{}'"), /append-only/)
  await pool.query('ALTER TABLE events DISABLE TRIGGER USER')
  const stream = `transaction-${ids[1]}`
  await pool.query('UPDATE events SET data = (data::jsonb || \'{"amount":"2"}\')::json WHERE stream_id = $1', [stream])
  matchExactly(t, await createChainCheck(pool).check(await readLogRows(pool, LOG_START, 100)), [{ streamId: stream }])
  matchExactly(
    t,
    (await logOf(pool).loadChecked(transactionAggregate, all)).filter(({ broken }) => broken !== null),
    [{ id: ids[1] }],
  )
})
