/**
 * Migrates the database to the newest schema and exits: runs before every other process of an installation, as the
 * owner of the tables.
 */
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { loginOf } from '../src/compose/database-roles/logins.ts'
import { migrateDatabase } from '../src/compose/migrate-database.ts'
import { ConfigError, loadConfig } from '../src/config.ts'
import { BursarError } from '../src/core/errors.ts'
import { createLogger } from '../src/logging.ts'

try {
  const { databaseUrl, logLevel, redisUrl, database } = loadConfig(process.env)
  if (databaseUrl === null)
    throw new ConfigError(['DATABASE_URL must be set. The sandbox migrates its database automatically'])
  const log = createLogger({ level: logLevel, processName: 'migrate' })
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 })
  const directory = fileURLToPath(new URL('../prisma/migrations', import.meta.url))
  const logins = database.logins.map(loginOf)
  const applied = await migrateDatabase(pool, { databaseUrl, directory, queues: redisUrl === null, logins }).finally(
    () => pool.end(),
  )
  log.info({ applied, users: logins.map(({ user }) => user) }, 'the schema and the database roles are up to date')
} catch (error) {
  if (!(error instanceof ConfigError || error instanceof BursarError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
