/** Read models are rebuilt while the service reads and writes them. */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { READ_MODEL_NAMES } from '../../src/declarations.ts'
import { REBUILD_SCHEMA, rebuild } from '../../src/event-log/rebuild.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { type SomeLog, withSomeLog } from '../support/some-log.ts'

/** Everything about tables that a rebuild must preserve. */
const SHAPES = `SELECT c.relname, c.relacl::text, c.reloptions, (SELECT string_agg(i.indexrelid::regclass || ' ' || pg_get_indexdef(i.indexrelid), ';' ORDER BY i.indexrelid::regclass::text)
    FROM pg_index i WHERE i.indrelid = c.oid) AS indexes,
    (SELECT string_agg(conname || ' ' || pg_get_constraintdef(k.oid), ';' ORDER BY conname) FROM pg_constraint k WHERE k.conrelid = c.oid) AS constraints,
    (SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod) || attnotnull || coalesce(pg_get_expr(d.adbin, d.adrelid), ''), ';' ORDER BY attnum)
       FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS columns
  FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace ORDER BY 1`

async function namedDifferences({ pool }: SomeLog): Promise<string[]> {
  const { differences } = await compareLive(pool, LOG_CONTENTS)
  return differences.map(({ table, key }) => `${table} ${Object.values(key).join(' ')}`).sort()
}

t.test('a row that was changed by hand is named, and a rebuild corrects it', async (t: Test) => {
  const some = await withSomeLog(t)
  const [first = '', second = '', third = ''] = await some.transfer(5)
  await some.pool.query('UPDATE transactions SET amount = amount + 1 WHERE transaction_id = $1', [first])
  await some.pool.query('DELETE FROM transactions WHERE transaction_id = $1', [second])
  await some.pool.query(`DELETE FROM idempotency_keys WHERE key = 'key-${third}'`)
  await some.pool.query(`INSERT INTO wallet_holds VALUES ('wal_stranger', 'x', 5)`)
  t.strictSame(await namedDifferences(some), [
    `idempotency_keys acme key-${third}`,
    ...[`transactions ${first}`, `transactions ${second}`].sort(),
    'wallet_holds wal_stranger x',
  ])
  const before = await some.pool.query(SHAPES)
  const { rows, events } = await rebuild(some.pool, LOG_CONTENTS, { tables: READ_MODEL_NAMES })
  t.strictSame([rows.transactions, rows.idempotency_keys, rows.wallets, rows.balances], [5, 5, 1, 1])
  t.ok(events > 10)
  t.strictSame(await namedDifferences(some), [])
  t.strictSame(
    (await some.pool.query(SHAPES)).rows,
    before.rows,
    'columns, keys, indexes, storage parameters and grants are unchanged',
  )
  t.strictSame((await some.pool.query(`SELECT FROM pg_namespace WHERE nspname = '${REBUILD_SCHEMA}'`)).rowCount, 0)
})

t.test('a client that repeats a request after a rebuild gets the resource of the first one', async (t: Test) => {
  const some = await withSomeLog(t)
  const [id = ''] = await some.transfer(1)
  await some.pool.query('TRUNCATE idempotency_keys')
  await rebuild(some.pool, LOG_CONTENTS, { tables: ['idempotency_keys'] })
  const { rows } = await some.pool.query('SELECT tenant_id, key, fingerprint, resource_id FROM idempotency_keys')
  t.strictSame(rows, [{ tenant_id: 'acme', key: `key-${id}`, fingerprint: 'print-1', resource_id: id }])
})

t.test('transfers go on and readers see no gap while all read models are rebuilt again and again', async (t: Test) => {
  const some = await withSomeLog(t)
  await some.pool.query('CREATE ROLE rebuild_reader').catch(() => undefined) // Roles belong to the server: an earlier test run may have left it.
  await some.pool.query('GRANT SELECT ON transactions TO rebuild_reader WITH GRANT OPTION')
  await some.transfer(200)
  let running = true
  let transferred = 200
  let reads = 0
  const writing = (async () => {
    while (running) transferred += (await some.transfer(8)).length
  })()
  const reading = (async () => {
    let seen = 200
    while (running) {
      const { rows } = await some.pool.query<{ n: string; held: string; wallets: string }>({
        name: 'rebuild_test_read',
        text: `SELECT (SELECT count(*) FROM transactions) AS n, (SELECT count(*) FROM wallets) AS wallets,
                      (SELECT coalesce(sum(held), 0) FROM wallet_holds) AS held`,
      })
      const n = Number(rows[0]?.n)
      if (n < seen || rows[0]?.wallets !== '1') throw new Error(`a reader saw a gap: ${n} after ${seen}`)
      seen = n
      reads += 1
      await delay(1)
    }
  })()
  const both = Promise.all([writing, reading])
  both.catch(() => undefined) // Awaited below.
  let caughtUp = 0
  // More rounds on a machine that is too slow for enough reads and transfers in two.
  const isOver = (round: number) => round > 2 && transferred > 200 && reads > 100 && caughtUp > 0
  for (let round = 1; round <= 20 && !isOver(round); round += 1) {
    caughtUp += (await rebuild(some.pool, LOG_CONTENTS, { tables: READ_MODEL_NAMES })).caughtUp
    t.strictSame(await namedDifferences(some), [], `after rebuild ${round} the live tables equal the replayed log`)
  }
  running = false
  await both
  t.strictSame(await namedDifferences(some), [])
  t.equal(Number((await some.pool.query('SELECT count(*) FROM transactions')).rows[0].count), transferred)
  t.match((await some.pool.query(`SELECT relacl::text FROM pg_class WHERE oid = 'transactions'::regclass`)).rows[0], {
    relacl: /rebuild_reader=r\*/,
  })
  t.ok(
    transferred > 200 && reads > 100 && caughtUp > 0,
    `${transferred} transfers, ${reads} reads, ${caughtUp} events caught up`,
  )
  t.comment(`${transferred} transfers, ${reads} reads, ${caughtUp} events caught up`)
})

t.test('a killed rebuild does not change the live tables, and can be started again', async (t: Test) => {
  const some = await withSomeLog(t)
  await some.transfer(50)
  const killer = new pg.Client({ connectionString: some.url })
  await killer.connect()
  t.after(() => killer.end())
  const kill = () =>
    killer.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'bursar-rebuild-%' AND datname = current_database()`,
    )
  let killed = 0
  for (const pauseMs of [0, 5, 50, 150]) {
    let ended = ''
    const outcome = rebuild(some.pool, LOG_CONTENTS, { tables: READ_MODEL_NAMES }).then(
      () => {
        ended = 'done'
      },
      () => {
        ended = 'killed'
      },
    )
    await delay(pauseMs)
    // Until it has a connection that can be killed.
    while (ended === '' && (await kill()).rowCount === 0) await delay(1)
    await outcome
    if (ended === 'killed') killed += 1
    t.strictSame(await namedDifferences(some), [], `killed after ${pauseMs} ms: the live tables are unchanged`)
  }
  t.ok(killed > 1, `${killed} rebuilds were killed`)
  await rebuild(some.pool, LOG_CONTENTS, { tables: READ_MODEL_NAMES })
  t.strictSame(await namedDifferences(some), [])
})

t.test('two rebuilds do not run at once', async (t: Test) => {
  const some = await withSomeLog(t)
  await some.transfer(20)
  // While somebody reads the table, the first one cannot end.
  const reader = new pg.Client({ connectionString: some.url })
  await reader.connect()
  t.after(() => reader.end())
  await reader.query('BEGIN; SELECT FROM transactions')
  const rebuilds = [1, 2].map(() => rebuild(some.pool, LOG_CONTENTS, { tables: ['transactions'] }))
  await Promise.race(rebuilds).catch(() => undefined)
  await reader.query('COMMIT')
  const outcomes = await Promise.allSettled(rebuilds)
  const refused = outcomes.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
  t.strictSame(
    refused.map(({ reason }) => reason.code),
    ['rebuild_running'],
  )
})

t.test('a reader that never ends keeps its table, and is named', async (t: Test) => {
  const some = await withSomeLog(t)
  await some.transfer(3)
  const reader = new pg.Client({ connectionString: some.url })
  await reader.connect()
  t.after(() => reader.end())
  await reader.query('BEGIN; SELECT FROM wallets')
  await t.rejects(rebuild(some.pool, LOG_CONTENTS, { tables: ['wallets'], lockTries: 2 }), {
    code: 'table_busy',
    message: /wallets/,
  })
  t.strictSame(await namedDifferences(some), [])
})
