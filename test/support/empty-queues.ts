/** Empties the queues in PostgreSQL while they are in use. */
import pg from 'pg'
import { isTransient } from '../../src/event-log/database-errors.ts'

const TABLES = ['job', 'dedup', 'dedup_next', 'meta', 'event'].map((name) => `bullmq.${name}`).join(', ')
/** A lock on all tables may deadlock with statements that hold one of them: PostgreSQL cancels either. */
const TRIES = 20

export async function emptyQueues(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, query_timeout: 5_000 })
  client.on('error', () => undefined) // The running statement fails with the same error.
  await client.connect()
  try {
    for (let tries = 1; ; tries += 1) {
      try {
        return void (await client.query(`TRUNCATE ${TABLES} CASCADE`))
      } catch (error) {
        if (!isTransient(error) || tries === TRIES) throw error
      }
    }
  } finally {
    await client.end()
  }
}
