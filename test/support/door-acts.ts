/**
 * Acts that no object of the catalogue stands for: what a login does with itself, with other sessions, and with the
 * server. Most are PostgreSQL's own, and no grant of Bursar decides them.
 */

/** Every test of these acts has sessions of other logins open. */
const OTHERS = "FROM pg_stat_activity WHERE usename <> session_user AND usename LIKE 'bursar%' LIMIT 1"

/** By name, what a login tries. Each runs in a transaction that is rolled back. */
export const ACTS: Readonly<Record<string, string>> = {
  'take an advisory lock': 'SELECT pg_advisory_xact_lock(4117006)',
  'notify listeners': "SELECT pg_notify('door', '')",
  listen: 'LISTEN door',
  'make a temporary table': 'CREATE TEMPORARY TABLE door ()',
  'make a schema': 'CREATE SCHEMA door',
  'make a large object': 'SELECT lo_create(0)',
  'make a large object with content': "SELECT lo_from_bytea(0, '\\x00')",
  'change its own settings': "ALTER ROLE CURRENT_USER SET search_path = 'door'",
  'change its own password': "ALTER ROLE CURRENT_USER PASSWORD 'door'",
  'become a superuser': 'ALTER ROLE CURRENT_USER SUPERUSER',
  'make a role': 'CREATE ROLE door',
  'change the settings of the database':
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = door', current_database()); END $$",
  'change the settings of the server': 'SELECT pg_reload_conf()',
  'turn triggers off in its session': 'SET LOCAL session_replication_role = replica',
  'commit without waiting for the disk': 'SET LOCAL synchronous_commit = off',
  'install an extension': 'CREATE EXTENSION pgcrypto',
  'make an untrusted function': "CREATE FUNCTION pg_temp.door() RETURNS void LANGUAGE c AS 'door'",
  'make a publication': 'CREATE PUBLICATION door',
  'make an event trigger': 'CREATE EVENT TRIGGER door ON ddl_command_end EXECUTE FUNCTION door()',
  'make a foreign server': 'CREATE FOREIGN DATA WRAPPER door',
  'load a library': "LOAD 'door'",
  'read a file of the server': "SELECT pg_read_file('PG_VERSION')",
  'copy to a file of the server': "COPY (SELECT 1) TO '/tmp/door'",
  'copy from a file of the server': "COPY pg_class FROM '/etc/hostname'",
  'run a program of the server': "COPY (SELECT 1) TO PROGRAM 'true'",
  'end the session of another user': `SELECT pg_terminate_backend(pid) ${OTHERS}`,
  'cancel the statement of another user': `SELECT pg_cancel_backend(pid) ${OTHERS}`,
  'see the statements of another user':
    "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_stat_activity WHERE usename <> session_user AND query <> '<insufficient privilege>') THEN RAISE insufficient_privilege; END IF; END $$",
  'read the position of the log of the server': 'SELECT pg_current_wal_insert_lsn()',
}
