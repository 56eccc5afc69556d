/** The embedded PostgreSQL: durable, private, reused, and able to restart after any end. */
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { type Postgres, startPostgres } from '../../src/sandbox/postgres.ts'
import { withDatabase } from '../support/postgres.ts'

async function query(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return (await client.query(statement).finally(() => client.end())).rows
}

async function directoryFor(t: Test): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-postgres-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  return directory
}

async function start(t: Test, options: Parameters<typeof startPostgres>[0]): Promise<Postgres> {
  const postgres = await startPostgres(options)
  t.after(() => postgres.stop())
  return postgres
}

t.test('committed data are there after a kill -9, at the same address and with the same password', async (t) => {
  const directory = await directoryFor(t)
  const first = await start(t, { directory })
  t.strictSame(await query(first.url, 'SHOW fsync'), [{ fsync: 'on' }])
  await query(first.url, 'CREATE TABLE kept (n int)')
  await query(first.url, 'INSERT INTO kept VALUES (7)')
  process.kill(first.pid, 'SIGKILL')
  t.strictSame(await first.exited, { code: null, signal: 'SIGKILL' })
  const second = await start(t, { directory })
  t.equal(second.url, first.url)
  t.strictSame(await query(second.url, 'SELECT n FROM kept'), [{ n: 7 }])
})

t.test('a server that an earlier run left behind is stopped, and the new one takes its place', async (t) => {
  const directory = await directoryFor(t)
  const first = await start(t, { directory })
  const second = await start(t, { directory })
  t.strictSame(await first.exited, { code: 0, signal: null })
  t.not(second.pid, first.pid)
  t.equal(second.url, first.url)
  t.strictSame(await query(second.url, 'SELECT 1 AS one'), [{ one: 1 }])
})

t.test('a pid file that names another live program neither blocks the start nor ends that program', async (t) => {
  const directory = await directoryFor(t)
  const first = await start(t, { directory })
  await first.stop()
  await writeFile(join(directory, 'data', 'postmaster.pid'), `${process.pid}\n${directory}/data\n`)
  const second = await start(t, { directory })
  t.strictSame(await query(second.url, 'SELECT 1 AS one'), [{ one: 1 }])
})

t.test('only a client with the password connects, and only its owner reads the password file', async (t) => {
  const directory = await directoryFor(t)
  const { url } = await start(t, { directory })
  const wrong = new URL(url)
  wrong.password = 'guess'
  await t.rejects(query(wrong.href, 'SELECT 1'), { code: '28P01' })
  t.equal((await stat(join(directory, 'password'))).mode & 0o777, 0o600)
})

t.test(
  'root without user namespaces runs PostgreSQL as the user nobody',
  { skip: process.getuid?.() !== 0 && 'needs root' },
  async (t) => {
    const directory = await directoryFor(t)
    const postgres = await start(t, { directory, account: 'nobody' })
    t.equal((await stat(`/proc/${postgres.pid}`)).uid, 65534)
    t.strictSame(await query(postgres.url, 'SELECT 1 AS one'), [{ one: 1 }])
  },
)

t.test('each test has a database of its own with the schema applied', async (t) => {
  const [first, second] = await Promise.all([withDatabase(t), withDatabase(t)])
  t.not(first.url, second.url)
  await first.pool.query('CREATE TABLE mine ()')
  t.strictSame((await second.pool.query("SELECT to_regclass('mine') AS mine")).rows, [{ mine: null }])
  t.strictSame((await second.pool.query("SELECT to_regclass('events')::text AS log")).rows, [{ log: 'events' }])
})
