/**
 * Applies the SQL files of `prisma/migrations` as `prisma migrate deploy` does, without its engine: the same table
 * (`_prisma_migrations`), checksums and advisory lock, so that Prisma's own command agrees.
 */
import { randomUUID } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import { refuseNewerSchema } from './fitting-versions.ts'
import { type Migration, readMigrations } from './migrations.ts'
import type { Row } from './table-rows.ts'

/** The advisory lock of Prisma's schema engine. */
const MIGRATION_LOCK = 72707369

const MIGRATION_TABLE = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id varchar(36) PRIMARY KEY NOT NULL, checksum varchar(64) NOT NULL, finished_at timestamptz, migration_name varchar(255) NOT NULL,
  logs text, rolled_back_at timestamptz, started_at timestamptz NOT NULL DEFAULT now(), applied_steps_count integer NOT NULL DEFAULT 0)`

/** The names of migrations. */
export type Migrated = {
  readonly applied: readonly string[]
  /** What the database has and this program does not know, although it runs with it: a newer program migrated it. */
  readonly unknown: readonly string[]
}

/**
 * Migrates a database to the newest schema; several processes may call it at once.
 *
 * @throws Conflict `schema_too_new` when a newer program migrated it, which this one does not run with
 * @throws Error when an applied migration was edited afterwards: its checksum differs
 */
export async function migrate(pool: Pool, directory: string): Promise<Migrated> {
  const client = await pool.connect()
  try {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK])
    await client.query(MIGRATION_TABLE)
    const migrations = await readMigrations(directory)
    const done = await appliedMigrations(client)
    const unknown = await unknownMigrations(client, migrations, done)
    const applied: string[] = []
    for (const migration of migrations) {
      const { name, checksum } = migration
      const before = done.get(name)
      if (before === checksum) continue
      if (before !== undefined)
        throw new Error(
          `migration ${name} was changed after it was applied: restore the file, and write a new migration`,
        )
      await apply(client, migration, migrations)
      applied.push(name)
    }
    await recordVersions(client, migrations)
    return { applied, unknown }
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    await client.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK])
    client.release()
  }
}

/** Their checksums, by name. */
async function appliedMigrations(client: PoolClient): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ migration_name: string; checksum: string }>(
    'SELECT migration_name, checksum FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL',
  )
  return new Map(rows.map((row) => [row.migration_name, row.checksum]))
}

async function apply(client: PoolClient, migration: Migration, all: readonly Migration[]): Promise<void> {
  const { name, sql, checksum } = migration
  await client.query('BEGIN')
  await client.query(sql)
  await client.query(
    'INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name, applied_steps_count) VALUES ($1, $2, now(), $3, 1)',
    [randomUUID(), checksum, name],
  )
  // In the same transaction: a program that does not run with it never sees the one without the other.
  await recordVersions(client, all)
  await client.query('COMMIT')
}

/** Of the migrations that are applied. Nothing before the migration that makes the table. */
async function recordVersions(client: PoolClient, migrations: readonly Migration[]): Promise<void> {
  if (!(await hasVersions(client))) return
  await client.query(
    `INSERT INTO schema_versions (migration, oldest_program)
     SELECT x.* FROM unnest($1::text[], $2::text[]) AS x(migration, oldest_program)
      WHERE EXISTS (SELECT FROM _prisma_migrations m WHERE m.migration_name = x.migration AND m.finished_at IS NOT NULL AND m.rolled_back_at IS NULL)
     ON CONFLICT DO NOTHING`,
    [migrations.map(({ name }) => name), migrations.map(({ oldestProgram }) => oldestProgram)],
  )
}

async function hasVersions(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ has: boolean }>("SELECT to_regclass('schema_versions') IS NOT NULL AS has")
  return rows[0]?.has === true
}

/** @throws Conflict `schema_too_new` */
async function unknownMigrations(
  client: PoolClient,
  migrations: readonly Migration[],
  done: ReadonlyMap<string, string>,
): Promise<readonly string[]> {
  const known = migrations.map(({ name }) => name)
  const unknown = [...done.keys()].filter((name) => !known.includes(name))
  if (unknown.length === 0) return []
  const rows = (await hasVersions(client))
    ? (await client.query<Row<'schema_versions'>>('SELECT migration, oldest_program FROM schema_versions')).rows
    : []
  const oldest = new Map(rows.map(({ migration, oldest_program }) => [migration, oldest_program]))
  const refusal = refuseNewerSchema(
    known,
    unknown.map((migration) => ({ migration, oldestProgram: oldest.get(migration) ?? migration })),
  )
  if (refusal !== null) throw refusal
  return unknown
}
