/**
 * What SECURITY.md says of the database logins of processes, on a real PostgreSQL: each test logs in with the role of a
 * process and tries it.
 */
import pg, { type Pool } from 'pg'
import t, { type Test } from 'tap'
import { applyDatabaseRoles } from '../../src/compose/database-roles/apply-roles.ts'
import { loginOf, makeLogins } from '../../src/compose/database-roles/logins.ts'
import { SESSION_OPTIONS } from '../../src/compose/kernel.ts'
import { DATABASE_ROLES } from '../../src/core/database-roles.ts'
import { saveCheckpoint } from '../../src/event-log/subscription.ts'
import { loginAs, poolUntilEnd } from '../support/database-login.ts'
import { withDatabase } from '../support/postgres.ts'
import { appendRaw, rawEvent } from '../support/raw-events.ts'

const REFUSED = { code: '42501' }
const PASSWORD = 'secret-of-a-party'

async function asParty(
  t: Test,
  { url, pool }: { readonly url: string; readonly pool: Pool },
  n: number,
): Promise<Pool> {
  const { user: username } = loginOf({ name: `party-${n}`, password: PASSWORD })
  await makeLogins(
    pool,
    [1, 2].map((one) => loginOf({ name: `party-${one}`, password: PASSWORD })),
  )
  const own = new URL(url)
  Object.assign(own, { username, password: PASSWORD })
  return poolUntilEnd(t, { connectionString: own.href, max: 1 })
}

const beat = (pool: Pool, process: string) => pool.query('SELECT record_heartbeat($1, $2)', [process, 'host:1'])

t.test('a party writes and removes its own heartbeat and no other', async (t: Test) => {
  const database = await withDatabase(t)
  const [one, two] = [await asParty(t, database, 1), await asParty(t, database, 2)]
  await t.resolves(beat(one, 'mpc-party-1'))
  await t.rejects(beat(one, 'mpc-party-2'), REFUSED)
  await t.rejects(beat(one, 'mpc-party-3'), REFUSED, 'also where no such party has reported')
  await t.resolves(beat(two, 'mpc-party-2'))
  await t.rejects(one.query("SELECT remove_heartbeat('mpc-party-2', 'host:1')"), REFUSED)
  t.equal((await database.pool.query('SELECT FROM heartbeats')).rowCount, 2)
})

t.test('a user that an administrator made keeps the party as which it reported first', async (t: Test) => {
  const database = await withDatabase(t)
  const [one, two] = [await loginAs(t, database, 'party'), await loginAs(t, database, 'party')]
  await t.resolves(beat(one, 'mpc-party-1'))
  await t.rejects(beat(two, 'mpc-party-1'), REFUSED)
  await t.resolves(beat(two, 'mpc-party-2'))
})

t.test('no process writes large objects, or messages into the log of the server', async (t: Test) => {
  const database = await withDatabase(t)
  for (const role of DATABASE_ROLES) {
    const pool = await loginAs(t, database, role)
    const { rows } = await pool.query<{ name: string }>(
      `SELECT p.oid::regprocedure::text AS name FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace
          AND (starts_with(p.proname, 'lo_') OR p.proname IN ('loread', 'lowrite', 'pg_logical_emit_message'))
          AND has_function_privilege(p.oid, 'EXECUTE')`,
    )
    t.strictSame(rows, [], role)
    await t.rejects(pool.query('SELECT lo_create(0)'), REFUSED)
  }
})

t.test('each process moves its own checkpoint and reads all', async (t: Test) => {
  const database = await withDatabase(t)
  const [sender, dispatcher] = [await loginAs(t, database, 'sender'), await loginAs(t, database, 'dispatcher')]
  const place = (position: bigint) => ({ transactionId: 7n, position })
  await saveCheckpoint(dispatcher, 'dispatcher', place(7n))
  await saveCheckpoint(sender, 'webhooks', place(7n))
  await t.rejects(saveCheckpoint(sender, 'dispatcher', place(1_000n)), REFUSED)
  await t.rejects(saveCheckpoint(dispatcher, 'webhooks', place(1_000n)), REFUSED)
  await t.rejects(saveCheckpoint(sender, 'another', place(1_000n)), REFUSED)
  await sender.query("UPDATE checkpoints SET position = 1000 WHERE name <> 'webhooks'")
  await saveCheckpoint(dispatcher, 'dispatcher', place(8n))
  const operator = await loginAs(t, database, 'operator')
  const { rows } = await operator.query('SELECT name, position FROM checkpoints ORDER BY 1')
  t.strictSame(rows, [
    { name: 'dispatcher', position: '8' },
    { name: 'webhooks', position: '7' },
  ])
})

t.test('a user leaves no settings to its sessions after the next migration', async (t: Test) => {
  const database = await withDatabase(t)
  const api = await loginAs(t, database, 'api')
  const { rows: names } = await api.query<{ name: string }>('SELECT quote_ident(current_database()) AS name')
  await api.query("ALTER ROLE CURRENT_USER SET search_path = 'elsewhere'")
  await api.query(`ALTER ROLE CURRENT_USER IN DATABASE ${names[0]?.name} SET datestyle = 'SQL, DMY'`)
  const { connectionString } = api.options
  const settingsOf = async (options?: string) => {
    const client = new pg.Client({ connectionString, options })
    await client.connect()
    const { rows } = await client.query(
      "SELECT current_setting('search_path') AS path, current_setting('datestyle') AS style",
    )
    await client.end()
    return rows[0]
  }
  t.strictSame(await settingsOf(), { path: 'elsewhere', style: 'SQL, DMY' })
  t.match(await settingsOf(SESSION_OPTIONS), { style: /^ISO/ }, 'a process does not take over what changes a meaning')
  await applyDatabaseRoles(database.pool)
  t.match(await settingsOf(), { path: '"$user", public', style: /^ISO/ })
})

t.test(
  'the coordinator requests no repair, and no refresh of a key in a refresh or without a wallet',
  async (t: Test) => {
    const database = await withDatabase(t)
    await database.pool.query(
      `INSERT INTO mpc_keys (key_id, wallet_id, tenant_id, public_key, address, threshold, parties, epoch, banned, open_refresh, refreshed_at, version)
     VALUES ('used', 'wal_1', 'acme', '', '', 2, 3, 0, '[]', NULL, now(), 2), ('open', 'wal_2', 'acme', '', '', 2, 3, 0, '[]', 'rfr_1', now(), 3),
            ('pool', NULL, NULL, '', '', 2, 3, 0, '[]', NULL, now(), 1)`,
    )
    const signer = await loginAs(t, database, 'signer')
    const ask = (key: string, data: object) => {
      const event = { streamId: `mpckey-${key}`, type: 'MpcSharesRefreshRequested', data: JSON.stringify(data) }
      return appendRaw(signer, [rawEvent(event)])
    }
    const refused = { ...REFUSED, message: /may not request this refresh/ }
    await t.rejects(ask('used', { reason: 'recovery', party: 2 }), refused)
    await t.rejects(ask('used', { reason: 'requested', party: null }), refused)
    await t.rejects(ask('open', { reason: 'scheduled', party: null }), refused)
    await t.rejects(ask('pool', { reason: 'scheduled', party: null }), refused)
    await t.resolves(ask('used', { reason: 'scheduled', party: null }))
  },
)

t.test('no login requests a second refresh by leaving the row of the key as it was', async (t: Test) => {
  const database = await withDatabase(t)
  await database.pool.query(
    `INSERT INTO mpc_keys (key_id, wallet_id, tenant_id, public_key, address, threshold, parties, epoch, banned, refreshed_at, version)
     VALUES ('used', 'wal_1', 'acme', '', '', 2, 3, 0, '[]', now(), 1)`,
  )
  const [signer, dispatcher] = [await loginAs(t, database, 'signer'), await loginAs(t, database, 'dispatcher')]
  const streamId = 'mpckey-used'
  const at = (streamVersion: number, previous: string, type: string, more: object = {}) => {
    const data = JSON.stringify({ refreshId: `rfr_${streamVersion}`, reason: 'scheduled', party: null })
    return rawEvent({ streamId, streamVersion, previous, type, data, ...more })
  }
  const refused = { ...REFUSED, message: /may not request this refresh/ }
  const first = at(1, '', 'MpcSharesRefreshRequested')
  const together = at(2, first.hash, 'MpcSharesRefreshRequested', { namesPrevious: false })
  await t.rejects(appendRaw(dispatcher, [first, together]), refused, 'two in one append')
  await appendRaw(dispatcher, [first])
  await t.rejects(appendRaw(dispatcher, [at(2, first.hash, 'MpcSharesRefreshRequested')]), refused, 'one after another')
  const failed = at(2, first.hash, 'MpcSharesRefreshFailed')
  await appendRaw(signer, [failed])
  await t.resolves(appendRaw(dispatcher, [at(3, failed.hash, 'MpcSharesRefreshRequested')]), 'behind the end of it')
})

t.test('an append that names the lease of another role does not wait for its row, nor lock it', async (t: Test) => {
  const database = await withDatabase(t)
  await database.pool.query("SELECT acquire_lease('sign-1-0xa', 'signer', 600000)")
  const submitter = await loginAs(t, database, 'submitter')
  const holder = await database.pool.connect()
  try {
    await holder.query("BEGIN; SELECT FROM leases WHERE name = 'sign-1-0xa' FOR UPDATE")
    const guards = { fences: [{ commit: 0, name: 'sign-1-0xa', fence: 1 }] }
    await t.rejects(appendRaw(submitter, [], {}, guards), { ...REFUSED, message: /may not use the lease/ })
  } finally {
    await holder.query('ROLLBACK')
    holder.release()
  }
})

t.test('no login fills the lock table of the server with locks that outlast a statement', async (t: Test) => {
  const database = await withDatabase(t)
  for (const role of DATABASE_ROLES) {
    const login = await loginAs(t, database, role)
    const many = (name: string) => login.query(`SELECT ${name}(n) FROM generate_series(1, 100) AS n`)
    for (const name of ['pg_advisory_lock', 'pg_try_advisory_lock', 'pg_advisory_lock_shared'])
      await t.rejects(many(name), REFUSED, `${role}: ${name}`)
    await t.rejects(login.query("SELECT bullmq.next_job_id('q' || n) FROM generate_series(1, 100) AS n"), REFUSED, role)
  }
})

t.test('who does not use the queues cannot hold them up', async (t: Test) => {
  const database = await withDatabase(t)
  const finalization = "hashtext('bullmq:finalization'), hashtext('lane')"
  for (const role of ['party', 'auditor'] as const) {
    const login = await loginAs(t, database, role)
    for (const name of ['pg_advisory_lock', 'pg_advisory_xact_lock', 'pg_try_advisory_xact_lock'])
      await t.rejects(login.query(`SELECT ${name}(${finalization})`), REFUSED, `${role}: ${name}`)
  }
  const dispatcher = await loginAs(t, database, 'dispatcher')
  const added = await dispatcher.query(
    "SELECT bullmq.add_job('lane', NULL, 'lane', '{}', '{}', 0, 0, 0, 1, NULL, NULL, NULL, NULL, NULL, false) AS id",
  )
  t.equal(added.rows.length, 1, 'its users add jobs')
})

t.test('no login appends an event that fills the memory of its readers', async (t: Test) => {
  const database = await withDatabase(t)
  const sender = await loginAs(t, database, 'sender')
  const disabled = (spaces: number) =>
    rawEvent({ streamId: `webhook-${spaces}`, type: 'WebhookDisabled', data: `{${' '.repeat(spaces)}}` })
  const MIB = 1_024 * 1_024
  await t.rejects(
    appendRaw(sender, [disabled(32 * MIB)]),
    { code: 'BU003' },
    'more than 32 MiB, however well compressed',
  )
  await t.resolves(appendRaw(sender, [disabled(16 * MIB)]), 'as much as a request may have')
})
