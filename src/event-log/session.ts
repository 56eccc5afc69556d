/** A separate connection for work that takes minutes: no time limits, and its temporary tables end with it. */
import pg, { type Pool } from 'pg'
import { Conflict } from '../core/errors.ts'

/** Connects to the pool's database. The caller ends the session. */
async function openSession(pool: Pool, name: string): Promise<pg.Client> {
  const { connectionString } = pool.options
  const client = new pg.Client({ connectionString, application_name: `bursar-${name}`, keepAlive: true })
  // A broken connection fails the running query; without a listener it would end the process.
  client.on('error', () => undefined)
  await client.connect()
  try {
    // The output may be slow: minutes may pass between two statements.
    await client.query('SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0')
    return client
  } catch (error) {
    await client.end()
    throw error
  }
}

/** Runs a task with sessions and ends them afterwards, also after an error. */
export async function withSessions<T>(
  pool: Pool,
  names: readonly string[],
  task: (...sessions: pg.Client[]) => Promise<T>,
): Promise<T> {
  const sessions: pg.Client[] = []
  try {
    for (const name of names) {
      sessions.push(await openSession(pool, name))
    }
    return await task(...sessions)
  } finally {
    await Promise.all(sessions.map((session) => session.end().catch(() => undefined))) // It may already be broken.
  }
}

/** @throws Conflict `owner_required` for a user that cannot create tables and write to them directly */
export async function requireOwner(session: pg.Client): Promise<void> {
  const { rowCount } = await session.query(
    "SELECT FROM pg_class WHERE oid = 'events'::regclass AND pg_has_role(session_user, relowner, 'USAGE')",
  )
  if (rowCount !== 0) return
  throw new Conflict('owner_required', 'The user of DATABASE_URL does not own the tables: connect as the owner.')
}
