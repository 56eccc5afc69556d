/**
 * Sets a limit on idle transactions in this database, whoever opens them: readers of the log wait for each of them. A
 * value set by an administrator for the server, the database or a role is kept.
 */
import type { Pool } from 'pg'
import { IDLE_IN_TRANSACTION_MS } from '../event-log/open-transactions.ts'
import { withSessions } from '../event-log/session.ts'

/**
 * Only the owner of the database or a superuser can set it; for others it does nothing. Open sessions are not affected.
 */
export async function limitIdleTransactions(pool: Pool): Promise<void> {
  // A session of the pool has its own value and cannot show what others get.
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
