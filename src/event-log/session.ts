/** A connection of its own for work that takes minutes: no time limit, and what it makes for itself goes with it. */
import pg, { type Pool } from 'pg'
import { Conflict } from '../core/errors.ts'

/** The same database as the pool's. The caller ends it. */
async function openSession(pool: Pool, name: string): Promise<pg.Client> {
  const { connectionString } = pool.options
  const client = new pg.Client({ connectionString, application_name: `bursar-${name}`, keepAlive: true })
  // A connection that breaks fails the query under way; without a listener it would end the process.
  client.on('error', () => undefined)
  await client.connect()
  try {
    // What is read may be written to something slow: between two statements there may be minutes.
    await client.query('SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0')
    return client
  } catch (error) {
    await client.end()
    throw error
  }
}

/** Hands sessions to a task and ends them after it, whatever became of it. */
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
    await Promise.all(sessions.map((session) => session.end().catch(() => undefined))) // It may be broken already.
  }
}

/** @throws Conflict `owner_required` for a user that may not make tables and write them directly */
export async function requireOwner(session: pg.Client): Promise<void> {
  const { rowCount } = await session.query(
    "SELECT FROM pg_class WHERE oid = 'events'::regclass AND pg_has_role(session_user, relowner, 'USAGE')",
  )
  if (rowCount !== 0) return
  throw new Conflict('owner_required', 'The user of DATABASE_URL does not own the tables: connect as their owner.')
}
