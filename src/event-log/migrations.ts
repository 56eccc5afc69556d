/** The migrations that this program knows: the directories of `prisma/migrations`, which the build copies to `dist`. */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const MIGRATIONS_DIRECTORY = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))

export type Migration = {
  readonly name: string
  readonly sql: string
  /** SHA-256, in hex. */
  readonly checksum: string
  /** The newest migration that the oldest program knows which runs with this one: itself, unless it names another. */
  readonly oldestProgram: string
}

/** In a migration: `-- Oldest program: 20261124001100_database_checks`. */
const OLDEST_PROGRAM = /^-- Oldest program: (\d{14}_\w+)$/m

/** The names in the order of their application. */
export async function migrationNames(directory = MIGRATIONS_DIRECTORY): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
}

/** In the order of their application. */
export async function readMigrations(directory: string): Promise<readonly Migration[]> {
  return Promise.all(
    (await migrationNames(directory)).map(async (name) => {
      const sql = await readFile(join(directory, name, 'migration.sql'), 'utf8')
      const checksum = createHash('sha256').update(sql).digest('hex')
      return { name, sql, checksum, oldestProgram: OLDEST_PROGRAM.exec(sql)?.[1] ?? name }
    }),
  )
}
