/**
 * Transactions left open on the server of the log, in any of its databases: readers of the log wait for them, requests
 * do not, and operators see the session.
 */
import pg from 'pg'
import t, { type Test } from 'tap'
import { limitIdleTransactions } from '../../src/compose/limit-idle-transactions.ts'
import { migrateDatabase } from '../../src/compose/migrate-database.ts'
import { readinessChecks } from '../../src/compose/readiness.ts'
import { openFor, readOpenTransactions } from '../../src/event-log/open-transactions.ts'
import { withSessions } from '../../src/event-log/session.ts'
import { createReadiness } from '../../src/http/health.ts'
import { readServiceFacts } from '../../src/operator/stuck/service-facts.ts'
import { loginAs } from '../support/database-login.ts'
import type { LoadWallet } from '../support/load.ts'
import { MIGRATIONS } from '../support/postgres.ts'
import { withLosableServer } from '../support/postgres-copy.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { withStage } from '../support/service-stage.ts'

const server = await withLosableServer(t, { fsync: 'off', max_prepared_transactions: '4' })
const stage = await withStage(t, { databaseUrl: server.url })
const { service } = stage
const { pool, kernel } = service
await pool.query('CREATE DATABASE warehouse')
const [payer] = (await service.makeWallets(1)) as [LoadWallet]

type Open = {
  readonly client: pg.Client
  readonly pid: number
  /** Its transaction id. */
  readonly xid: string
  readonly end: () => Promise<void>
}

/** A session that has written something and is idle. */
async function leaveOpen(t: Test, database: string, begin: readonly string[] = ['BEGIN']): Promise<Open> {
  const url = new URL(server.url)
  url.pathname = `/${database}`
  const client = new pg.Client({ connectionString: url.href, application_name: 'nightly' })
  client.on('error', () => undefined) // The server may end it.
  await client.connect()
  let ended: Promise<void> | null = null
  const end = () => {
    ended ??= client.end()
    return ended
  }
  t.teardown(end)
  for (const statement of begin) await client.query(statement)
  const { rows } = await client.query("SELECT pg_backend_pid() AS pid, pg_current_xact_id() AS xid, 'a secret'")
  return { client, pid: rows[0].pid, xid: rows[0].xid, end }
}

async function dispatched(): Promise<string> {
  const { rows } = await pool.query("SELECT transaction_id FROM checkpoints WHERE name = 'dispatcher'")
  return rows[0]?.transaction_id
}

/** Nothing is in progress, and the dispatcher has read all of it. */
async function quiet(): Promise<void> {
  await stage.settle()
  const newest = 'SELECT transaction_id FROM events ORDER BY transaction_id DESC LIMIT 1'
  await eventually(async () => (await pool.query(newest)).rows[0].transaction_id === (await dispatched()))
}

/** Waits until this is the oldest open transaction, and the dispatcher has read all before it. @returns its checkpoint */
function heldAt(xid: string): Promise<string> {
  const newest = `SELECT transaction_id FROM events WHERE transaction_id < $1 AND pg_snapshot_xmin(pg_current_snapshot()) = $1
                   ORDER BY transaction_id DESC LIMIT 1`
  return eventually(async () => {
    const { rows } = await pool.query(newest, [xid])
    return rows[0]?.transaction_id === (await dispatched()) && rows[0].transaction_id
  })
}

/** What a load balancer and a monitor read, with a short tolerance here. */
async function readyz(t: Test) {
  const own = new pg.Pool({ connectionString: service.urlAs('api'), max: 2 })
  t.teardown(() => own.end())
  const checks = readinessChecks({ ...kernel, pool: own }, { dispatchLagMs: 2_000, openTransactionMs: 0 })
  return createReadiness(checks, Date.now)
}

async function confirmed(amount: string): Promise<void> {
  const id = await stage.send(payer, amount)
  await stage.until(payer, id, 'submitted')
  await stage.mine(2)
  await stage.until(payer, id, 'confirmed')
}

t.test('an open transaction in another database blocks only subscriptions, which continue after it', async (t) => {
  await stage.settle()
  const { pid, xid, end } = await leaveOpen(t, 'warehouse')
  const before = await heldAt(xid)
  const ready = await readyz(t)
  const startedAt = performance.now()
  await confirmed('0.1')
  const body = { network: 'ethereum', type: 'hd' }
  const wallet = await service.api.insist({ method: 'POST', path: '/v1/wallets/create', body })
  t.equal(wallet.status, 201)
  await service.api.settle(wallet)
  t.comment(`a transfer and a wallet took ${Math.round(performance.now() - startedAt)} ms beside the open session`)
  t.equal(await dispatched(), before, 'the dispatcher read nothing: the sweeper queued the jobs')

  const answer = await eventually(async () => {
    const { waitingMs } = await readOpenTransactions(pool)
    const checks = waitingMs > 2_500 && (await ready())
    // On a slow machine a check may not answer in time: it is asked again.
    return checks && !JSON.stringify(checks).includes('did not answer') && checks
  })
  t.strictSame(
    answer.filter(({ ok }) => !ok),
    [],
    'every API process stays ready',
  )
  const [warned] = answer.filter(({ name, warning }) => name !== 'database' && warning !== null)
  t.match(warned, {
    name: 'log_readers',
    warning: new RegExp(
      `^pid ${pid} has had a transaction open for \\d+ s \\(user bursar, database warehouse, application nightly, ` +
        'idle in transaction: SELECT pg_backend_pid\\(\\) AS pid, pg_current_xact_id\\(\\) AS xid, …\\)',
    ),
  })
  await end()
  await eventually(async () => BigInt(await dispatched()) > BigInt(before))
  await eventually(async () => (await ready()).every(({ ok, warning }) => ok && !warning?.includes(`pid ${pid} `)))
})

t.test('operators and the API see the session, whatever the process roles may see', async (t) => {
  await quiet()
  const { pid, xid, client } = await leaveOpen(t, 'warehouse')
  const operator = new pg.Pool({ connectionString: service.urlAs('operator'), max: 2 })
  t.teardown(() => operator.end())
  const mine = { pid, database: 'warehouse', user: 'bursar', application: 'nightly', state: 'idle in transaction' }
  const ctx = { pool: operator, sources: [] }
  const { openTransactions } = await readServiceFacts(ctx, new Map(), new Date())
  const [found] = openFor(openTransactions, 0).filter((one) => one.pid === pid)
  t.match(found, { ...mine, query: /^SELECT pg_backend_pid\(\).*'a secret'/ })
  const { rows } = await operator.query('SELECT query, xact_start FROM pg_stat_activity WHERE pid = $1', [pid])
  t.strictSame(
    rows,
    [{ query: '<insufficient privilege>', xact_start: null }],
    'PostgreSQL hides the session from the role',
  )
  const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text()
  t.ok(Number(/^bursar_oldest_open_transaction_seconds\{.*\} (\S+)$/m.exec(metrics)?.[1]) > 0, 'the age is a metric')
  for (const role of ['signer', 'party'] as const) {
    const other = await loginAs(t, { url: server.url, pool }, role)
    await t.rejects(other.query('SELECT * FROM open_transactions()'), { code: '42501' }, role)
  }

  await client.query("PREPARE TRANSACTION 'left behind'")
  t.match(
    (await readOpenTransactions(operator)).transactions.find(({ prepared }) => prepared === 'left behind'),
    { pid: null, database: 'warehouse', user: 'bursar', state: 'prepared', query: null },
  )
  const before = await heldAt(xid)
  await confirmed('0.2')
  t.equal(await dispatched(), before, 'a prepared transaction also blocks readers')
  await client.query("ROLLBACK PREPARED 'left behind'")
  await eventually(async () => BigInt(await dispatched()) > BigInt(before))
})

t.test(
  'when the owner of the tables may not see other sessions, the finding has the age of waiting events',
  async (t) => {
    await pool.query("CREATE ROLE plain LOGIN CREATEROLE PASSWORD 'secret'")
    await pool.query('CREATE DATABASE plain OWNER plain')
    const url = new URL(server.url)
    Object.assign(url, { username: 'plain', password: 'secret', pathname: '/plain' })
    await pool.query(`GRANT ${(await groups()).join(', ')} TO plain WITH ADMIN OPTION`)
    const own = new pg.Pool({ connectionString: url.href, max: 2 })
    t.teardown(() => own.end())
    await migrateDatabase(own, { databaseUrl: url.href, directory: MIGRATIONS, queues: false, logins: [] })
    const { pid } = await leaveOpen(t, 'warehouse')
    const read = async () => (await readOpenTransactions(own)).transactions.find((one) => one.pid === pid)
    t.match(await read(), {
      database: 'warehouse',
      user: 'bursar',
      state: null,
      query: null,
      ageMs: null,
      seenAs: 'plain',
    })
    await pool.query('GRANT pg_read_all_stats TO plain')
    t.match(await read(), { state: 'idle in transaction', query: /^SELECT/, ageMs: Number })
  },
)

async function groups(): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    "SELECT rolname AS name FROM pg_roles WHERE rolname LIKE 'bursar\\_%'",
  )
  return rows.map(({ name }) => name)
}

t.test('read-only transactions and replication slots delay nobody', async (t) => {
  await quiet()
  const { client } = await leaveOpen(t, 'warehouse', [])
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await client.query('SELECT count(*) FROM pg_class')
  await pool.query("SELECT pg_create_physical_replication_slot('standby', true)")
  t.teardown(() => pool.query("SELECT pg_drop_replication_slot('standby')"))
  const before = await dispatched()
  await confirmed('0.3')
  await eventually(async () => BigInt(await dispatched()) > BigInt(before))
  t.pass('the dispatcher reads new events')
})

t.test('the server ends a transaction that is left open in our database; long reads are spared', async (t) => {
  const timeoutOf = async (session: Pick<pg.Client, 'query'>) =>
    (await session.query('SHOW idle_in_transaction_session_timeout')).rows[0].idle_in_transaction_session_timeout
  const fresh = new pg.Pool({ connectionString: service.urlAs('operator'), max: 1 })
  t.teardown(() => fresh.end())
  t.equal(await timeoutOf(fresh), '1min', 'migrate sets the timeout for every connection')
  t.equal(await timeoutOf(pool), '1min', 'the pool of a process sets the timeout')
  await withSessions(pool, ['replay-reader'], async (session) => t.equal(await timeoutOf(session), '0'))

  await pool.query("ALTER DATABASE bursar SET idle_in_transaction_session_timeout = '300ms'")
  await limitIdleTransactions(pool)
  const { client } = await leaveOpen(t, 'bursar', [])
  t.equal(await timeoutOf(client), '300ms', 'the value of an administrator is kept')
  await quiet()
  const before = await dispatched()
  const ended = new Promise<Error>((resolve) => client.once('error', resolve))
  // In one message: a pause between two would end the transaction before it has written.
  await client.query('BEGIN; SELECT pg_current_xact_id()')
  const sending = confirmed('0.4')
  t.match(await ended, { code: '25P03' })
  await eventually(async () => BigInt(await dispatched()) > BigInt(before))
  await sending
})

t.end()
