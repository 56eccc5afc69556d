/**
 * A log that was restored into another server (pg_restore), whose transaction ids are behind it: nobody appends before the
 * log that is there, every process says what to do, and `migrate` does it.
 */
import t from 'tap'
import { checkDatabase } from '../../src/compose/check-database.ts'
import { composeKernel } from '../../src/compose/kernel.ts'
import { loadConfig } from '../../src/compose/load-config.ts'
import { migrateDatabase } from '../../src/compose/migrate-database.ts'
import { Unavailable } from '../../src/core/errors.ts'
import { PROCESS_LIST } from '../../src/core/processes.ts'
import { readDatabaseFacts } from '../../src/event-log/database-facts.ts'
import { subscribe } from '../../src/event-log/subscription.ts'
import { appendTransfers } from '../support/audit.ts'
import { seedWallet, withLog } from '../support/log.ts'
import { withOperator } from '../support/operator-stage.ts'
import { MIGRATIONS } from '../support/postgres.ts'
import { restoreFromElsewhere } from '../support/restored-log.ts'
import { runToItsEnd } from '../support/run-program.ts'

const PROCESSES = PROCESS_LIST.map(({ kind }) => kind)
/** Writing commands, each by one of its ways to the database. */
const COMMANDS = [
  'keys issue --tenant acme --environment mainnet',
  'jobs retry lane --all',
  'bursar rebuild --all',
  'bursar reconcile',
] as const
const AHEAD = 250_000
const ONE_LINE =
  /^(keys: )?The event log was restored into a server whose next transaction id is \d+, below that of its newest event \(\d+\)[^\n]*: run npm run migrate\.\n$/

const stage = await withLog(t)
const { pool, url, log, wakeUps } = stage
await seedWallet(pool, { walletId: 'wal_1', balance: 10n ** 30n })
await appendTransfers(log, 2)
await restoreFromElsewhere(pool, AHEAD)

t.test('an append that would be read before older events is refused, and changes nothing', async (t) => {
  const count = async () => (await pool.query('SELECT count(*) FROM events')).rows[0].count
  const before = await count()
  await t.rejects(appendTransfers(log, 1), Unavailable)
  t.equal(await count(), before)
})

t.test('every process refuses to start with one line that names the command', async (t) => {
  const directory = t.testdir()
  for (const name of PROCESSES) {
    const env = { DATABASE_URL: url, DATA_DIR: directory, LOG_LEVEL: 'silent' }
    t.match(await runToItsEnd(name, env), { code: 1, complaint: ONE_LINE }, name)
  }
})

t.test('commands that write refuse too', async (t) => {
  for (const line of COMMANDS)
    t.match(
      await runToItsEnd(line, { DATABASE_URL: url, DATA_DIR: t.testdir() }),
      { code: 1, complaint: ONE_LINE },
      line,
    )
})

t.test('migrate passes the ids: later appends are read after every older event', async (t) => {
  const progress: (readonly [number, number])[] = []
  const settings = { databaseUrl: url, directory: MIGRATIONS, queues: true, logins: [] }
  const startedAt = performance.now()
  await migrateDatabase(pool, { ...settings, onIdsPassed: (...passed) => progress.push(passed) })
  t.comment(`${AHEAD} ids passed in ${Math.round(performance.now() - startedAt)} ms`)
  t.ok(progress.length > 2, 'progress is reported meanwhile')
  t.equal(progress.at(-1)?.[0], progress.at(-1)?.[1], 'and complete at the end')
  t.equal((await readDatabaseFacts(pool)).refusal, null)

  const { rows: older } = await pool.query('SELECT max(transaction_id) AS id, max(position) AS position FROM events')
  const stopping = new AbortController()
  const events = subscribe({ pool, wakeUps, name: 'restored', signal: stopping.signal, dataOf: [] })
  await appendTransfers(log, 1)
  const { rows: newer } = await pool.query('SELECT min(transaction_id) AS id FROM events WHERE position > $1', [
    older[0].position,
  ])
  t.ok(BigInt(newer[0].id) > BigInt(older[0].id))
  const read: string[] = []
  for await (const batch of events) {
    read.push(...batch.events.map(({ streamId, type }) => `${streamId} ${type}`))
    if (read.length >= 9) stopping.abort()
  }
  const { rows: written } = await pool.query("SELECT stream_id || ' ' || type AS name FROM events ORDER BY position")
  t.strictSame(
    read,
    written.map(({ name }) => name),
    'a reader gets them in the order in which they were written',
  )
  progress.length = 0
  await migrateDatabase(pool, { ...settings, onIdsPassed: (...passed) => progress.push(passed) })
  t.strictSame(progress, [], 'another migration has nothing to pass')
})

t.test('a restore under a running process ends it, and stuck reports it', async (t) => {
  const { pool, log, run } = await withOperator(t)
  const config = loadConfig({ DATABASE_URL: pool.options.connectionString ?? '', LOG_LEVEL: 'silent' })
  const kernel = composeKernel(config, 'submitter')
  t.after(() => kernel.close())
  const stopping = new AbortController()
  t.after(() => stopping.abort())
  const refused = new Promise<Error>((resolve) => {
    void checkDatabase(kernel, stopping.signal, resolve, { retryMs: 10, everyMs: 10 })
  })
  await seedWallet(pool, { walletId: 'wal_1', balance: 10n ** 30n })
  await appendTransfers(log, 1)
  t.match(await run('stuck'), { code: 0 })
  // Ids with more digits follow, as in a database that was restored into while it was used.
  await restoreFromElsewhere(pool, AHEAD, 1)
  t.match(await refused, { code: 'log_ids_behind' })
  t.match(await run('stuck'), {
    code: 1,
    out: /database_unfit · database\n.*run npm run migrate[\s\S]*→.*\n.*npm run migrate/,
  })
})

t.end()
