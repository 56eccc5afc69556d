/** What the sandbox's PostgreSQL did: WAL bytes, statements and changed rows, from its own counters. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Subject } from './subject.ts'

export type DatabaseCounters = { readonly walBytes: number; readonly statements: number; readonly rows: number }

/** A backend reports its counters at most once a second. */
const REPORTED_AFTER_MS = 1_500
const LOOK_MS = 100

/** Restarts the sandbox's PostgreSQL with `pg_stat_statements`, which counts the statements. */
export async function countStatements(subject: Subject): Promise<void> {
  const before = postgresPid(subject)
  await withClient(subject, (client) =>
    client.query(`ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'`),
  )
  if (!subject.service.kill('postgres', 'SIGINT')) throw new Error('the sandbox has no process named postgres')
  while (postgresPid(subject) === before) await sleep(LOOK_MS)
  for (;;) {
    const created = await withClient(subject, (client) =>
      client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements'),
    ).catch(() => null)
    if (created !== null) return
    await sleep(LOOK_MS)
  }
}

function postgresPid({ service }: Subject): number | undefined {
  return service.state().processes.find(({ name }) => name === 'postgres')?.pid
}

/** The counters since the start of the server. */
export async function readDatabaseCounters(subject: Subject): Promise<DatabaseCounters> {
  await sleep(REPORTED_AFTER_MS)
  const row = await withClient(subject, async (client) => {
    const { rows } = await client.query<{ wal: string; statements: string; changed: string }>(
      `SELECT pg_current_wal_insert_lsn() - '0/0' AS wal,
              (SELECT sum(calls) FROM pg_stat_statements) AS statements,
              (SELECT sum(tup_inserted + tup_updated + tup_deleted) FROM pg_stat_database) AS changed`,
    )
    return rows[0]
  })
  return { walBytes: Number(row?.wal), statements: Number(row?.statements), rows: Number(row?.changed) }
}

export async function withClient<T>(subject: Subject, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: subject.service.state().database_url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
