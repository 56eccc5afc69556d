/**
 * A database that was told not to wait for its disk: what was answered survives a kill of PostgreSQL, and health checks and
 * `stuck` say what to set.
 */
import pg, { type Pool } from 'pg'
import t, { type Test } from 'tap'
import { createCheckpointRows } from '../../src/audit/checkpoints/checkpoint-rows.ts'
import { databaseReadiness } from '../../src/compose/check-database.ts'
import { readDatabaseFacts } from '../../src/event-log/database-facts.ts'
import { createLeases } from '../../src/event-log/leases.ts'
import { createEventLog } from '../../src/event-log/log.ts'
import { createWakeUps } from '../../src/event-log/wake-ups.ts'
import { createReadiness } from '../../src/http/health.ts'
import { parseKek } from '../../src/keys/kek.ts'
import { createPostgresKeystore } from '../../src/keys/postgres-keystore.ts'
import { seal } from '../../src/keys/sealed-box.ts'
import { keepSecret } from '../../src/webhooks/secrets.ts'
import { appendTransfers } from '../support/audit.ts'
import { loginAs } from '../support/database-login.ts'
import { seedWallet } from '../support/log.ts'
import { withOperator } from '../support/operator-stage.ts'
import { withLosableServer } from '../support/postgres-copy.ts'
import { eventually } from '../support/sandbox-eventually.ts'

/** As slow as PostgreSQL allows: a kill loses what no commit waited for. */
const server = await withLosableServer(t, { wal_writer_delay: '10s' })
const CLIENTS = 8
const LEAST_ANSWERED = 300
const BARE_ROWS = 50

const ROLE_SETTING = 'ALTER ROLE bursar SET synchronous_commit = off'
const DATABASE_SETTING = 'ALTER DATABASE bursar SET synchronous_commit = off'

/** A setting of the database or the role applies to new connections. */
async function withPool<T>(use: (pool: Pool) => Promise<T>): Promise<T> {
  const pool = new pg.Pool({ connectionString: server.url, max: CLIENTS + 2 })
  pool.on('error', () => undefined) // The test kills the server.
  return use(pool).finally(() => pool.end())
}

/** Something that was answered, and a statement that returns how much of it is missing. */
type Answered = { readonly text: string; readonly values: readonly unknown[]; readonly count: number }

/** Does it, adds rows that nothing makes durable, and kills the server: nothing is flushed after the answer. */
async function surviveKill(t: Test, act: (pool: Pool) => Promise<Answered>): Promise<void> {
  const { text, values, count } = await withPool(async (pool) => {
    t.equal((await pool.query('SHOW synchronous_commit')).rows[0].synchronous_commit, 'off')
    await pool.query('DELETE FROM bare')
    const answered = await act(pool)
    for (let n = 0; n < BARE_ROWS; n += 1) await pool.query('INSERT INTO bare VALUES ($1)', [n])
    await server.kill()
    return answered
  })
  await server.restart()
  await withPool(async (pool) => {
    const missing = Number((await pool.query(text, [...values])).rows[0].missing)
    const bare = Number((await pool.query('SELECT count(*) FROM bare')).rows[0].count)
    t.comment(
      `${missing} of ${count} answered lost, and ${BARE_ROWS - bare} of ${BARE_ROWS} rows that nothing makes durable`,
    )
    t.equal(missing, 0)
    t.ok(bare < BARE_ROWS, 'the kill loses what is not flushed')
  })
}

/** Transfers of several clients at once. */
async function appendMany(pool: Pool): Promise<Answered> {
  const wakeUps = createWakeUps(pool, server.url)
  const log = createEventLog({ pool, wakeUps, clock: Date.now })
  const streams: string[] = []
  const each = async () => {
    while (streams.length < LEAST_ANSWERED)
      streams.push(...(await appendTransfers(log, 1)).map((id) => `transaction-${id}`))
  }
  await Promise.all(Array.from({ length: CLIENTS }, each))
  await wakeUps.close()
  const text =
    'SELECT count(*) AS missing FROM unnest($1::text[]) AS s WHERE (SELECT count(*) FROM events WHERE stream_id = s) < 3'
  return { text, values: [streams], count: streams.length }
}

const missingOf = (table: string) => `SELECT 1 - count(*) AS missing FROM ${table}`

const WRITES: Readonly<Record<string, (pool: Pool) => Promise<Answered>>> = {
  async 'a sealed seed'(pool) {
    const id = { tenantId: 'acme', purpose: 'hd-seed' }
    const kek = parseKek(Buffer.alloc(32, 7).toString('base64'))
    await createPostgresKeystore(pool).createOnce(id, seal(kek, id, Buffer.alloc(32)))
    return { text: missingOf('sealed_keys'), values: [], count: 1 }
  },
  async 'the secret of a webhook'(pool) {
    await keepSecret({ pool }, 'whk_1', { secretId: 'whs_1', sealed: 'sealed', now: new Date().toISOString() })
    return { text: missingOf('webhook_secrets'), values: [], count: 1 }
  },
  async 'a signed checkpoint'(pool) {
    const checkpoint = { origin: 'o', size: 1, root: Buffer.alloc(32), note: 'o\n1\n\n' }
    await createCheckpointRows(pool).keep(checkpoint, new Date().toISOString())
    return { text: missingOf('audit_checkpoints'), values: [], count: 1 }
  },
  async 'the fence of a lease'(pool) {
    const lease = await createLeases({ pool, holder: 'test', leaseMs: 60_000 }).acquire('sign-1')
    const text = 'SELECT $1::bigint - coalesce(max(fence), 0) AS missing FROM leases'
    return { text, values: [String(lease?.fence)], count: 1 }
  },
}

await withPool(async (pool) => {
  await seedWallet(pool, { walletId: 'wal_1', balance: 10n ** 30n })
  await pool.query('CREATE TABLE bare (n integer)')
})

t.test('a kill of PostgreSQL loses no append, with synchronous_commit off for the database or the role', async (t) => {
  for (const setting of [DATABASE_SETTING, ROLE_SETTING]) {
    await withPool((pool) => pool.query(setting))
    await surviveKill(t, appendMany)
    await withPool((pool) => pool.query(setting.replace('SET synchronous_commit = off', 'RESET synchronous_commit')))
  }
})

for (const [what, write] of Object.entries(WRITES)) {
  t.test(`a kill of PostgreSQL does not lose ${what}`, async (t) => {
    await withPool((pool) => pool.query(DATABASE_SETTING))
    await surviveKill(t, write)
  })
}

t.test('an append keeps a stronger setting, and raises local only if there is a synchronous standby', async (t) => {
  await withPool(async (pool) => {
    // One session: each learns of a changed setting by itself.
    const client = await pool.connect()
    const after = async (setting: string) => {
      try {
        await client.query('BEGIN')
        await client.query(`SET LOCAL synchronous_commit = ${setting}`)
        await client.query("SELECT append_commits('{}', '[]', '{}')")
        return (await client.query('SHOW synchronous_commit')).rows[0].synchronous_commit
      } finally {
        await client.query('ROLLBACK')
      }
    }
    try {
      for (const setting of ['remote_apply', 'on', 'remote_write', 'local']) t.equal(await after(setting), setting)
      t.equal(await after('off'), 'on')
      await client.query("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
      await client.query('SELECT pg_reload_conf()')
      // The session reads it with one of its next statements.
      const standby = async () =>
        (await client.query('SHOW synchronous_standby_names')).rows[0].synchronous_standby_names
      await eventually(async () => (await standby()) === 'nobody')
      t.equal(await after('local'), 'on')
      t.equal(await after('remote_apply'), 'remote_apply')
      await client.query('ALTER SYSTEM RESET synchronous_standby_names')
      await client.query('SELECT pg_reload_conf()')
    } finally {
      client.release()
    }
  })
})

t.test('health checks and stuck say which setting is not durable, and what to run', async (t) => {
  const { pool, run, ports } = await withOperator(t)
  const url = pool.options.connectionString ?? ''
  const name = new URL(url).pathname.slice(1)
  const weakOf = async (from: Pool) =>
    (await readDatabaseFacts(from)).weak.filter(({ setting }) => setting === 'synchronous_commit')
  t.strictSame(await weakOf(pool), [])
  const signer = await loginAs(t, { url, pool }, 'signer')
  const { rows } = await signer.query('SELECT session_user AS name')
  await pool.query(`ALTER DATABASE ${name} SET synchronous_commit = off`)
  await pool.query(`ALTER ROLE ${rows[0].name} IN DATABASE ${name} SET synchronous_commit = local`)
  const fix = `ALTER DATABASE ${name} RESET synchronous_commit;`
  t.strictSame(
    await weakOf(pool),
    [{ setting: 'synchronous_commit', value: 'off', fix }],
    'local is enough without a standby',
  )
  await pool.query(`ALTER ROLE ${rows[0].name} IN DATABASE ${name} SET synchronous_commit = off`)
  const roleFix = `ALTER ROLE ${rows[0].name} IN DATABASE ${name} RESET synchronous_commit;`
  for (const from of [pool, signer])
    t.strictSame((await weakOf(from)).map((weak) => weak.fix).toSorted(), [fix, roleFix])

  const [ready] = await createReadiness([databaseReadiness(signer)], Date.now)()
  t.match(ready, { ok: true, warning: 'PostgreSQL runs with fsync = off, synchronous_commit = off' })
  t.match(ready?.warning, fix)
  Object.assign(ports, { readDatabase: () => readDatabaseFacts(pool) })
  const { code, out } = await run('stuck')
  t.equal(code, 1)
  t.match(out, 'database_not_durable · database')
  t.match(out, 'ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf();')
  t.match(out, roleFix)
})

t.end()
