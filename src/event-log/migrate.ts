/**
 * Applies the SQL files of `prisma/migrations` as `prisma migrate deploy` does, without its engine: the same table
 * (`_prisma_migrations`), checksums and advisory lock, so that Prisma's own command agrees.
 */
import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pool } from 'pg'

/** The advisory lock of Prisma's schema engine. */
const MIGRATION_LOCK = 72707369

const MIGRATION_TABLE = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id varchar(36) PRIMARY KEY NOT NULL, checksum varchar(64) NOT NULL, finished_at timestamptz, migration_name varchar(255) NOT NULL,
  logs text, rolled_back_at timestamptz, started_at timestamptz NOT NULL DEFAULT now(), applied_steps_count integer NOT NULL DEFAULT 0)`

/**
 * Migrates a database to the newest schema; several processes may call it at once. Returns the names of the applied
 * migrations.
 *
 * @throws Error when an applied migration was edited afterwards: its checksum differs
 */
export async function migrate(pool: Pool, directory: string): Promise<string[]> {
  const client = await pool.connect()
  try {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK])
    await client.query(MIGRATION_TABLE)
    const { rows } = await client.query<{ migration_name: string; checksum: string }>(
      'SELECT migration_name, checksum FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL',
    )
    const known = new Map(rows.map((row) => [row.migration_name, row.checksum]))
    const applied: string[] = []
    for (const { name, sql, checksum } of await readMigrations(directory)) {
      const before = known.get(name)
      if (before === checksum) continue
      if (before !== undefined)
        throw new Error(
          `migration ${name} was changed after it was applied: restore the file, and write a new migration`,
        )
      await client.query('BEGIN')
      await client.query(sql)
      await client.query(
        'INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name, applied_steps_count) VALUES ($1, $2, now(), $3, 1)',
        [randomUUID(), checksum, name],
      )
      await client.query('COMMIT')
      applied.push(name)
    }
    return applied
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    await client.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK])
    client.release()
  }
}

async function readMigrations(directory: string): Promise<{ name: string; sql: string; checksum: string }[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  const names = entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(join(directory, name, 'migration.sql'), 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}
