/**
 * Creates the database roles and sets their privileges exactly, whatever they were before. Runs with every `npm run
 * migrate`, as the owner of the tables, so that new tables and functions are included. Idempotent.
 */
import { escapeIdentifier, escapeLiteral, type Pool, type PoolClient } from 'pg'
import { DATABASE_ROLES, groupRole } from '../../core/database-roles.ts'
import { Conflict } from '../../core/errors.ts'
import { OPENINGS, QUEUE_NAMES, TABLES } from '../../declarations.ts'
import { QUEUE_SCHEMA } from '../../jobs/postgres.ts'
import { eventRules, rowRules } from './event-rules.ts'
import { ROLE_TERMS, roleRights } from './role-rights.ts'

/** Any number that no other code takes an advisory lock on. */
const ROLES_LOCK = 4_117_006
const INSUFFICIENT_PRIVILEGE = '42501'
/** Another database of the server created the role at the same time. */
const EXISTS = new Set(['42710', '23505'])

const GROUPS = DATABASE_ROLES.map(groupRole)
const EVERYBODY = ['PUBLIC', ...GROUPS].join(', ')

/** @throws Conflict `roles_not_allowed` when the user cannot create roles, with an alternative for administrators */
export async function applyDatabaseRoles(pool: Pool): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('SELECT pg_advisory_lock($1)', [ROLES_LOCK])
    await makeGroups(client)
    await client.query('BEGIN')
    await makeRowChecks(client)
    for (const statement of await grantStatements(client)) await client.query(statement)
    await ownCheckpoints(client)
    await client.query(HARMLESS)
    await client.query('DELETE FROM role_rights')
    await client.query('INSERT INTO role_rights SELECT * FROM jsonb_populate_recordset(NULL::role_rights, $1::jsonb)', [
      JSON.stringify(roleRights()),
    ])
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    await client.query('SELECT pg_advisory_unlock($1)', [ROLES_LOCK])
    client.release()
  }
}

/** What an append may write follows from the declarations of this program. */
async function makeRowChecks(client: PoolClient): Promise<void> {
  await client.query('DELETE FROM event_rules')
  await client.query('INSERT INTO event_rules SELECT * FROM jsonb_populate_recordset(NULL::event_rules, $1::jsonb)', [
    JSON.stringify(eventRules()),
  ])
  const { rules, chain, content, free } = rowRules()
  await client.query('SELECT create_row_checks($1, $2, $3, $4)', [JSON.stringify(rules), chain, content, free])
  const unjudged = Object.entries(OPENINGS).flatMap(([type, { isUnjudged }]) => (isUnjudged === true ? [type] : []))
  await client.query(
    `CREATE OR REPLACE FUNCTION unjudged_openings() RETURNS text[] LANGUAGE sql STABLE
       AS $$ SELECT ARRAY[${unjudged.map(escapeLiteral).join(', ')}]::text[] $$`,
  )
}

/** Each role moves its own checkpoints: another's could be moved past events that were never handled. */
async function ownCheckpoints(client: PoolClient): Promise<void> {
  await client.query('ALTER TABLE checkpoints ENABLE ROW LEVEL SECURITY')
  await client.query('DROP POLICY IF EXISTS read_all ON checkpoints')
  await client.query('CREATE POLICY read_all ON checkpoints FOR SELECT USING (true)')
  for (const role of DATABASE_ROLES) {
    const names = (ROLE_TERMS[role].checkpoints ?? []).map(escapeLiteral).join(', ')
    for (const kind of ['INSERT', 'UPDATE', 'DELETE']) {
      const policy = `${kind.toLowerCase()}_of_${role}`
      await client.query(`DROP POLICY IF EXISTS ${policy} ON checkpoints`)
      if (names === '') continue
      const check = kind === 'INSERT' ? 'WITH CHECK' : 'USING'
      await client.query(
        `CREATE POLICY ${policy} ON checkpoints FOR ${kind} TO ${groupRole(role)} ${check} (name IN (${names}))`,
      )
    }
  }
}

/** The functions of advisory locks that end with their transaction: those of BullMQ's functions. */
const QUEUE_LOCKS = '^pg_(try_)?advisory_xact_lock'
const QUEUE_USERS = DATABASE_ROLES.filter((role) => ROLE_TERMS[role].queues)
  .map(groupRole)
  .join(', ')

/**
 * What a user of a role could leave behind: settings of its own, which its next session would have, and large objects.
 * And advisory locks: enough of them fill the lock table of the server, and then nobody can connect. Everybody may make
 * those until it is revoked, which a superuser can do. Where the owner may not change a user, an administrator made it.
 */
const HARMLESS = `DO $$
DECLARE
  found record;
BEGIN
  FOR found IN SELECT r.rolname FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = s.setrole
    WHERE s.setdatabase = 0 AND r.rolname <> current_user
      AND (r.rolname = ANY (ARRAY['${GROUPS.join("', '")}'])
           OR EXISTS (SELECT FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid
                       WHERE m.member = r.oid AND g.rolname = ANY (ARRAY['${GROUPS.join("', '")}'])))
  LOOP
    BEGIN
      EXECUTE format('ALTER ROLE %I RESET ALL', found.rolname);
    EXCEPTION WHEN insufficient_privilege THEN
      RAISE WARNING 'the user % has settings that the owner may not reset', found.rolname;
    END;
  END LOOP;
  FOR found IN SELECT r.rolname FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = s.setrole JOIN pg_database d ON d.oid = s.setdatabase
    WHERE d.datname = current_database() AND r.rolname <> current_user
      AND EXISTS (SELECT FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid
                   WHERE m.member = r.oid AND g.rolname = ANY (ARRAY['${GROUPS.join("', '")}']))
  LOOP
    BEGIN
      EXECUTE format('ALTER ROLE %I IN DATABASE %I RESET ALL', found.rolname, current_database());
    EXCEPTION WHEN insufficient_privilege THEN
      RAISE WARNING 'the user % has settings that the owner may not reset', found.rolname;
    END;
  END LOOP;
  IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
    FOR found IN SELECT p.oid::regprocedure AS name FROM pg_proc p
      WHERE p.pronamespace = 'pg_catalog'::regnamespace
        AND (p.proname LIKE 'lo\\_%' OR p.proname IN ('loread', 'lowrite', 'pg_logical_emit_message')
             OR p.proname ~ '^pg_(try_)?advisory_(xact_)?lock')
    LOOP
      EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', found.name);
    END LOOP;
    FOR found IN SELECT p.oid::regprocedure AS name FROM pg_proc p
      WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname ~ '${QUEUE_LOCKS}'
    LOOP
      EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO ${QUEUE_USERS}', found.name);
    END LOOP;
  END IF;
END $$`

async function makeGroups(client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    'SELECT name FROM unnest($1::text[]) AS name WHERE to_regrole(name) IS NULL',
    [GROUPS],
  )
  for (const { name } of rows) {
    try {
      await client.query(`CREATE ROLE ${name} NOLOGIN`)
    } catch (error) {
      const { code = '' } = error as { readonly code?: string }
      if (code === INSUFFICIENT_PRIVILEGE) throw refusedRoles(rows.map((row) => row.name))
      if (!EXISTS.has(code)) throw error
    }
  }
}

function refusedRoles(missing: readonly string[]): Conflict {
  const statements = missing.map((name) => `CREATE ROLE ${name} NOLOGIN;`).join(' ')
  return new Conflict(
    'roles_not_allowed',
    `The database user of migrate cannot create roles. Give it CREATEROLE, or let an administrator run: ${statements}`,
  )
}

async function grantStatements(client: PoolClient): Promise<string[]> {
  const { rows } = await client.query<{ schema: string; database: string; queues: boolean }>(
    'SELECT current_schema() AS schema, current_database() AS database, to_regnamespace($1) IS NOT NULL AS queues',
    [QUEUE_SCHEMA],
  )
  const [found] = rows
  if (found === undefined) throw new Error('the database did not return the schema of the tables')
  const schema = escapeIdentifier(found.schema)
  const database = escapeIdentifier(found.database)
  return [
    `REVOKE CREATE ON SCHEMA ${schema} FROM ${EVERYBODY}`,
    `GRANT USAGE ON SCHEMA ${schema} TO ${GROUPS.join(', ')}`,
    // Comparing read models with the log creates temporary tables.
    `REVOKE TEMPORARY ON DATABASE ${database} FROM ${EVERYBODY}`,
    `GRANT TEMPORARY ON DATABASE ${database} TO ${groupRole('operator')}`,
    ...Object.entries(TABLES).flatMap(([table, { grants }]) => [
      `REVOKE ALL ON TABLE ${schema}.${table} FROM ${EVERYBODY}`,
      ...Object.entries(grants).map(
        ([role, privileges]) => `GRANT ${privileges} ON TABLE ${schema}.${table} TO bursar_${role}`,
      ),
    ]),
    REVOKE_FUNCTIONS,
    ...roleRights().flatMap(({ role, functions }) =>
      functions.map((name) => `GRANT EXECUTE ON FUNCTION ${schema}.${name} TO ${role}`),
    ),
    ...(found.queues ? queueStatements() : []),
  ]
}

/** New functions are executable by everybody. Those of extensions are not changed: other programs may call them. */
const REVOKE_FUNCTIONS = `DO $$
DECLARE
  ours regprocedure;
BEGIN
  FOR ours IN SELECT p.oid::regprocedure FROM pg_proc p JOIN pg_class log ON log.oid = 'events'::regclass
    WHERE p.pronamespace = log.relnamespace AND p.proowner = log.relowner
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
  LOOP
    EXECUTE format('REVOKE ALL ON ROUTINE %s FROM ${EVERYBODY}', ours);
  END LOOP;
END $$`

function queueStatements(): string[] {
  const all = (kind: string) => `ALL ${kind} IN SCHEMA ${QUEUE_SCHEMA}`
  return [
    // It creates a sequence for each queue on first use, with the rights of its caller: here, for every queue. A role that
    // may create objects in this schema could shadow a function that another process calls; and one that may have any
    // number of sequences created could fill the lock table of the server.
    `ALTER FUNCTION ${QUEUE_SCHEMA}.next_job_id(text) SECURITY INVOKER`,
    ...QUEUE_NAMES.map((name) => `SELECT ${QUEUE_SCHEMA}.next_job_id(${escapeLiteral(name)})`),
    `REVOKE ALL ON SCHEMA ${QUEUE_SCHEMA} FROM ${EVERYBODY}`,
    ...['TABLES', 'SEQUENCES', 'FUNCTIONS'].map((kind) => `REVOKE ALL ON ${all(kind)} FROM ${EVERYBODY}`),
    `GRANT USAGE ON SCHEMA ${QUEUE_SCHEMA} TO ${QUEUE_USERS}`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ${all('TABLES')} TO ${QUEUE_USERS}`,
    `GRANT USAGE, SELECT ON ${all('SEQUENCES')} TO ${QUEUE_USERS}`,
    `GRANT EXECUTE ON ${all('FUNCTIONS')} TO ${QUEUE_USERS}`,
  ]
}
