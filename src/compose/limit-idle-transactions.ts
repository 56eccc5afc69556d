/**
 * Ends sessions of this database that leave a transaction open, whoever opened it: readers of the log wait for each of them. An
 * administrator who chose a value, for the server, the database or a role, keeps it.
 */
import type { Pool } from 'pg'
import { IDLE_IN_TRANSACTION_MS } from '../event-log/open-transactions.ts'
import { withSessions } from '../event-log/session.ts'

/** The owner of the database, or a superuser, may set it; others change nothing. Sessions that are open already stay as they are. */
export async function limitIdleTransactions(pool: Pool): Promise<void> {
  // A session of the pool has a value of its own, and could not tell what others get.
  await withSessions(pool, ['migrate'], (session) => session.query(LIMIT))
}

/** Any number that no other code takes an advisory lock on. */
const LIMIT_LOCK = 4_117_007

const LIMIT = `DO $$
BEGIN
  PERFORM pg_advisory_xact_lock(${LIMIT_LOCK});
  IF (SELECT reset_val FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout') = '0'
     AND EXISTS (SELECT FROM pg_database WHERE datname = current_database() AND pg_has_role(datdba, 'USAGE'))
     AND NOT EXISTS (SELECT FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase, unnest(s.setconfig) AS chosen
                      WHERE d.datname = current_database() AND s.setrole = 0 AND chosen LIKE 'idle_in_transaction_session_timeout=%')
  THEN
    EXECUTE format('ALTER DATABASE %I SET idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}', current_database());
  END IF;
END $$`
