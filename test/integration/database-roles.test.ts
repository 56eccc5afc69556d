/**
 * The database role of each process on a real PostgreSQL: what an attacker can do who has taken over a process and its
 * connection. Tests with the sandbox show that the roles are sufficient: its processes have them.
 */
import { fileURLToPath } from 'node:url'
import pg, { type Pool } from 'pg'
import t, { type Test } from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { applyDatabaseRoles } from '../../src/compose/database-roles/apply-roles.ts'
import { makeLogins } from '../../src/compose/database-roles/logins.ts'
import { migrateDatabase } from '../../src/compose/migrate-database.ts'
import { DATABASE_ROLES } from '../../src/core/database-roles.ts'
import type { Opening } from '../../src/core/registry.ts'
import { OPENINGS, STREAMS } from '../../src/declarations.ts'
import { createLeases } from '../../src/event-log/leases.ts'
import { rebuild } from '../../src/event-log/rebuild.ts'
import { startPostgres } from '../../src/sandbox/postgres.ts'
import { loginAs } from '../support/database-login.ts'
import { seedWallet } from '../support/log.ts'
import { type TestDatabase, withDatabase } from '../support/postgres.ts'
import { appendRaw, rawEvent } from '../support/raw-events.ts'
import { withSomeLog } from '../support/some-log.ts'

const database = await withDatabase(t) // None of these tests needs an empty one.
const REFUSED = { code: '42501' }
const MIGRATIONS = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))

let events = 0

function eventOf(category: string, type: string) {
  events += 1
  return rawEvent({ streamId: `${category}-${events}`, type })
}

/** One event in one commit, with rows and guards chosen by the caller. */
function append(pool: Pool, category: string, type: string, rows: object = {}, guards: object = {}): Promise<unknown> {
  return appendRaw(pool, [eventOf(category, type)], rows, guards)
}

const appendRows = (pool: Pool, rows: object, guards: object = {}) =>
  pool.query("SELECT append_commits($1, '[]', $2)", [JSON.stringify(guards), JSON.stringify(rows)])

/** Whether the database allows it; everything is rolled back. */
async function allows(pool: Pool, act: (pool: Pool) => Promise<unknown>): Promise<boolean> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await act(client as unknown as Pool)
    return true
  } catch (error) {
    if ((error as { code?: string }).code !== REFUSED.code) throw error
    return false
  } finally {
    await client.query('ROLLBACK')
    client.release()
  }
}

const EVERY_EVENT = Object.entries(STREAMS).flatMap(([category, { events }]) =>
  Object.entries(events).map(([type, writers]) => ({ name: `${category} ${type}`, category, type, writers })),
)

/** Which of these events a user may append, in streams of `category`: all are tried at once and rolled back. */
async function appendable(pool: Pool, inStream: (category: string) => string): Promise<readonly string[]> {
  const attempts = EVERY_EVENT.map(
    ({ name, category, type }) => `{"name":"${name}","event":${eventOf(inStream(category), type).json}}`,
  )
  const client = await pool.connect()
  try {
    await client.query(`DO $do$
      DECLARE
        attempt json;
        passed jsonb := '[]';
      BEGIN
        FOR attempt IN SELECT json_array_elements($all$[${attempts.join(',')}]$all$) LOOP
          BEGIN
            PERFORM append_commits('{}', json_build_array(attempt->'event'), '{}');
            passed := passed || jsonb_build_array(attempt->>'name');
            RAISE EXCEPTION USING ERRCODE = 'TS001';
          EXCEPTION WHEN SQLSTATE 'TS001' THEN
            NULL;
          WHEN insufficient_privilege THEN
            -- Without its row the event of a transaction is refused for another reason.
            IF SQLERRM ~ 'does not follow|needs its row|this refresh|may not be made' THEN passed := passed || jsonb_build_array(attempt->'name'); END IF;
          END;
        END LOOP;
        PERFORM set_config('test.passed', passed::text, false);
      END $do$`)
    const { rows } = await client.query<{ passed: string }>("SELECT current_setting('test.passed') AS passed")
    return JSON.parse(rows[0]?.passed ?? 'null')
  } finally {
    client.release()
  }
}

t.test('each role appends the events of its process and no other, in the streams that they belong to', async (t) => {
  for (const role of DATABASE_ROLES) {
    const pool = await loginAs(t, database, role)
    const named = EVERY_EVENT.filter(({ writers }) => writers.includes(role)).map(({ name }) => name)
    t.strictSame(await appendable(pool, (category) => category), named, role)
    t.strictSame(await appendable(pool, () => 'elsewhere'), [], role)
  }
  t.strictSame(await appendable(await loginAs(t, database), (category) => category), [], 'no role, no append')
})

t.test('an attacker with the role of the API signs nothing, makes no key and settles nothing', async (t) => {
  const api = await loginAs(t, database, 'api')
  for (const type of ['TransactionSigned', 'TransactionSubmitted', 'TransactionMined', 'SettlementRevoked'])
    await t.rejects(append(api, 'transaction', type), REFUSED, type)
  for (const type of ['NonceConsumedExternally', 'TransactionReplaced', 'TransactionConfirmed'])
    await t.rejects(append(api, 'transaction', type), REFUSED, type)
  await t.rejects(append(api, 'mpckey', 'MpcKeyGenerated'), REFUSED)
  await t.rejects(append(api, 'wallet', 'WalletCreated'), REFUSED)
  await t.rejects(append(api, 'apikey', 'ApiKeyIssued'), REFUSED)
  await t.rejects(append(api, 'balance', 'BalanceChanged'), REFUSED)
  await t.resolves(append(api, 'wallet', 'WalletRequested'))
})

t.test('an attacker with the role of the submitter requests no transfer and releases no signer lane', async (t) => {
  const submitter = await loginAs(t, database, 'submitter')
  const signer = await loginAs(t, database, 'signer')
  await t.rejects(append(submitter, 'transaction', 'TransferRequested'), REFUSED)
  await t.rejects(append(submitter, 'transaction', 'TransactionSigned'), REFUSED)
  await t.rejects(appendRows(submitter, { wallets: [] }), REFUSED)
  const held = await createLeases({ pool: signer, holder: 'signer', leaseMs: 60_000 }).acquire('sign-1-0xa')
  await t.rejects(submitter.query("SELECT release_lease('sign-1-0xa', $1, true)", [held?.fence]), REFUSED)
  await t.rejects(submitter.query("SELECT acquire_lease('sign-1-0xb', 'submitter', 1000)"), REFUSED)
  await t.rejects(submitter.query("UPDATE leases SET fence = 0, holder = 'submitter'"), REFUSED)
  t.equal(await held?.renew(), true)
  await t.resolves(submitter.query("SELECT acquire_lease('submit-1-0xb', 'submitter', 1000)"))
})

/** Statements that no process may run. */
const FORBIDDEN = [
  `INSERT INTO events (stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash)
     VALUES ('transaction-tx_forged', 1, 'TransferRequested', 3, '{}', '{}', now(), '')`,
  "UPDATE events SET data = '{}'",
  'DELETE FROM events',
  'TRUNCATE events',
  'ALTER TABLE events DISABLE TRIGGER ALL',
  "UPDATE wallets SET key_ref = '{}'",
  "UPDATE transactions SET to_address = '0xthief'",
  'UPDATE balances SET balance = 10 ^ 30',
  'DELETE FROM wallet_holds',
  'DELETE FROM idempotency_keys',
  'DELETE FROM heartbeats',
  "UPDATE role_rights SET events = '{transaction:TransactionSigned}'",
  "SELECT put_wallets('[]')",
  "SELECT put_rows('{}')",
  "SELECT apply_holds('[]', '{}')",
  "SELECT create_put_function('events')",
  'SELECT * FROM session_rights()',
  'CREATE FUNCTION public.loot() RETURNS void LANGUAGE sql AS $$ $$',
  'CREATE TABLE public.loot ()',
  'CREATE SCHEMA loot',
  'SET ROLE bursar_signer; SET SESSION AUTHORIZATION postgres',
] as const

t.test('no process writes, calls or makes anything that its role does not name', async (t) => {
  for (const role of [...DATABASE_ROLES, null]) {
    const pool = role === null ? await loginAs(t, database) : await loginAs(t, database, role)
    const allowed: string[] = []
    for (const statement of FORBIDDEN) {
      const passes = await allows(pool, (as) => as.query(statement)).catch((error) => {
        if (/does not exist/.test(String(error))) return false // The role that it would become.
        throw error
      })
      if (passes) allowed.push(statement)
    }
    t.strictSame(allowed, [], `${role} runs no forbidden statement`)
    t.equal(await allows(pool, (as) => as.query('SELECT envelope FROM sealed_keys')), role === 'signer', `${role}`)
    const reads = (as: Pool) => as.query('SELECT ciphertext FROM wallet_export_files')
    t.equal(await allows(pool, reads), role === 'api', `${role}`)
  }
})

t.test('an attacker with the role of a party reads what the party checks, and writes only heartbeats', async (t) => {
  const party = await loginAs(t, database, 'party')
  const { rows } = await party.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
        AND has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE') ORDER BY 1`,
  )
  t.strictSame(
    rows.map(({ name }) => name),
    ['events', 'heartbeats', 'mpc_keys', 'nft_collections', 'schema_versions', 'transactions', 'wallets'],
  )
  await t.resolves(party.query("SELECT record_heartbeat('mpc-party-2', 'host:1')"))
  await t.rejects(party.query("SELECT record_heartbeat('signer', 'host:1')"), REFUSED)
  await t.rejects(party.query("SELECT remove_heartbeat('signer', 'host:1')"), REFUSED)
  await t.rejects(append(party, 'transaction', 'TransferRequested'), REFUSED)
  await t.rejects(appendRows(party, {}), REFUSED)
  await t.rejects(party.query("SELECT acquire_lease('mpc-pool', 'party', 1000)"), REFUSED)
  await t.resolves(party.query("SELECT remove_heartbeat('mpc-party-2', 'host:1')"))
})

t.test('the rows of an append cannot give a wallet another key, owner or address', async (t) => {
  const { pool } = database
  const api = await loginAs(t, database, 'api')
  await seedWallet(pool, { walletId: 'wal_mine', balance: 0n })
  await pool.query(`UPDATE wallets SET key_ref = '{"kind": "hd", "index": 1}'`)
  const { rows } = await pool.query('SELECT to_jsonb(w) AS row FROM wallets AS w')
  const [{ row }] = rows
  const attempts = [
    { key_ref: { kind: 'hd', index: 2 } },
    { key_ref: null },
    { tenant_id: 'thief' },
    { address: '0xt' },
  ]
  for (const change of [...attempts, { wallet_id: 'wal_new' }]) {
    const refused = { ...REFUSED, message: /may not change the key/ }
    await t.rejects(appendRows(api, { wallets: [{ ...row, ...change }] }), refused, JSON.stringify(change))
  }
  await t.rejects(appendRows(api, { balances: [] }), REFUSED, 'only the follower appends balances')
  await t.rejects(appendRows(await loginAs(t, database, 'follower'), { api_keys: [] }), REFUSED)
})

t.test('the path of a session does not decide what an append means', async (t) => {
  await applyDatabaseRoles(database.pool) // Settings of a whole database are not copied from the template.
  const api = await loginAs(t, database, 'api')
  t.notOk(await allows(api, (as) => as.query('CREATE TEMP TABLE role_rights (role text)')))
  const operator = await loginAs(t, database, 'operator')
  await t.rejects(
    operator.query(
      `CREATE TEMP TABLE role_rights AS SELECT 'bursar_operator' AS role, ARRAY['transaction:TransactionSigned'] AS events,
         '{}'::text[] AS tables, '{}'::text[] AS leases, '{}'::text[] AS processes;
       SET search_path = pg_temp, public;
       SELECT append_commits('{}', '[${eventOf('transaction', 'TransactionSigned').json}]', '{}')`,
    ),
    REFUSED,
  )
})

t.test('a user in two roles may do what both may', async (t) => {
  const both = await loginAs(t, database, 'api', 'operator')
  await t.resolves(append(both, 'apikey', 'ApiKeyIssued'))
  await t.resolves(append(both, 'wallet', 'WalletRequested'))
  await t.rejects(append(both, 'wallet', 'WalletCreated'), REFUSED)
})

t.test('read models that were rebuilt are open to the same roles, and to no other', async (t: Test) => {
  const some = await withSomeLog(t)
  const api = await loginAs(t, some, 'api')
  await some.transfer(2)
  const before = await aclsOf(some.pool)
  await rebuild(some.pool, LOG_CONTENTS, { tables: ['wallets', 'transactions'] })
  t.strictSame(await aclsOf(some.pool), before)
  await t.resolves(append(api, 'wallet', 'WalletRequested', { transactions: [], wallets: [] }))
})

t.test('granting again changes nothing, and takes back what was granted by hand', async (t) => {
  const { pool } = database
  const before = await aclsOf(pool)
  await pool.query('GRANT ALL ON events TO bursar_party; GRANT EXECUTE ON FUNCTION put_rows(jsonb) TO PUBLIC')
  await applyDatabaseRoles(pool)
  await applyDatabaseRoles(pool)
  t.strictSame(await aclsOf(pool), before)
})

async function aclsOf(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ line: string }>(
    `SELECT format('%s %s %s', c.relname, pg_get_userbyid(c.relowner), array(SELECT x::text FROM unnest(c.relacl) AS x ORDER BY 1)) AS line
       FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
     UNION ALL SELECT format('%s %s', p.oid::regprocedure, array(SELECT x::text FROM unnest(p.proacl) AS x ORDER BY 1))
       FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace ORDER BY 1`,
  )
  return rows.map(({ line }) => line)
}

t.test('the database passes over the openings of which the declarations say that no policy judges them', async (t) => {
  const { pool } = await withDatabase(t)
  const unjudged = Object.keys(OPENINGS).filter((type) => OPENINGS[type as Opening].isUnjudged === true)
  const read = async () => {
    const { rows } = await pool.query<{ types: readonly string[] }>('SELECT unjudged_openings() AS types')
    return rows[0]?.types
  }
  t.ok(unjudged.length > 0)
  t.strictSame(await read(), unjudged)
  await pool.query(`CREATE OR REPLACE FUNCTION unjudged_openings() RETURNS text[] LANGUAGE sql STABLE
    AS $$ SELECT '{TransferRequested}'::text[] $$`)
  await applyDatabaseRoles(pool)
  t.strictSame(await read(), unjudged, 'each migration says it again')
})

t.test('an owner that may make roles needs not be a superuser, and one that may not is told what to do', async (t) => {
  const postgres = await startPostgres({ directory: t.testdir(), settings: { fsync: 'off', shared_buffers: '16MB' } })
  t.after(() => postgres.stop())
  const admin = new pg.Pool({ connectionString: postgres.url, max: 1 })
  const asOwner = async (attributes: string): Promise<TestDatabase> => {
    const name = `owner_${attributes.toLowerCase()}`
    await admin.query(`CREATE ROLE ${name} LOGIN ${attributes} PASSWORD 'secret'`)
    await admin.query(`CREATE DATABASE ${name} OWNER ${name}`)
    const url = new URL(postgres.url)
    Object.assign(url, { username: name, password: 'secret', pathname: `/${name}` })
    return { url: url.href, pool: new pg.Pool({ connectionString: url.href, max: 1 }) }
  }
  const settings = { directory: MIGRATIONS, queues: true }
  const plain = await asOwner('NOCREATEROLE')
  await t.rejects(migrateDatabase(plain.pool, { ...settings, databaseUrl: plain.url, logins: [] }), {
    code: 'roles_not_allowed',
    message: /CREATEROLE.*CREATE ROLE bursar_api NOLOGIN; CREATE ROLE bursar_dispatcher NOLOGIN;/,
  })
  const makes = await asOwner('CREATEROLE')
  const login = { user: 'bursar_api_login', password: 'a-long-password-of-its-own', roles: ['api'] } as const
  const all = { ...settings, databaseUrl: makes.url, logins: [login] }
  await migrateDatabase(makes.pool, all)
  t.strictSame((await migrateDatabase(makes.pool, all)).applied, [], 'a second migration changes nothing')
  const url = new URL(makes.url)
  Object.assign(url, { username: login.user, password: login.password })
  const api = new pg.Pool({ connectionString: url.href, max: 1 })
  await t.resolves(append(api, 'wallet', 'WalletRequested', { wallets: [] }))
  await t.rejects(append(api, 'transaction', 'TransactionSigned'), REFUSED)
  await t.rejects(makeLogins(makes.pool, [{ ...login, user: 'owner_createrole' }]), { code: 'login_too_powerful' })
  // The roles exist now: an owner that cannot create roles can use them, and an administrator creates its users.
  await t.resolves(migrateDatabase(plain.pool, { ...settings, databaseUrl: plain.url, logins: [] }))
  await Promise.all([api.end(), makes.pool.end(), plain.pool.end(), admin.end()])
})
