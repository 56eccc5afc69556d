/**
 * Migrates the database to the newest schema and exits: runs before every other process of an installation, as the
 * owner of the tables.
 */

import pg from 'pg'
import { printText } from '../src/cli/printed.ts'
import { loginOf } from '../src/compose/database-roles/logins.ts'
import { loadConfig } from '../src/compose/load-config.ts'
import { migrateDatabase } from '../src/compose/migrate-database.ts'
import { ConfigError } from '../src/config.ts'
import { BursarError } from '../src/core/errors.ts'
import { MIGRATIONS_DIRECTORY } from '../src/event-log/migrations.ts'
import { createLogger } from '../src/logging.ts'

/** Between two lines about a step that takes minutes. */
const PROGRESS_MS = 5_000

try {
  const { databaseUrl, logLevel, redisUrl, database } = loadConfig(process.env)
  if (databaseUrl === null)
    throw new ConfigError(['DATABASE_URL must be set. The sandbox migrates its database automatically'])
  const log = createLogger({ level: logLevel, processName: 'migrate' })
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 })
  const logins = database.logins.map(loginOf)
  let loggedAt = performance.now()
  const { applied, unknown } = await migrateDatabase(pool, {
    databaseUrl,
    directory: MIGRATIONS_DIRECTORY,
    queues: redisUrl === null,
    logins,
    onIdsPassed(passed, total) {
      if (passed < total && performance.now() - loggedAt < PROGRESS_MS) return
      loggedAt = performance.now()
      log.info({ passed, total }, 'passing the transaction ids of the restored log')
    },
  }).finally(() => pool.end())
  if (unknown.length > 0)
    log.warn({ unknown }, 'a newer version migrated the schema; this one runs with it and leaves it as it is')
  else log.info({ applied, users: logins.map(({ user }) => user) }, 'the schema and the database roles are up to date')
} catch (error) {
  if (!(error instanceof ConfigError || error instanceof BursarError)) throw error
  printText(process.stderr, `${error.message}\n`)
  process.exitCode = 1
}
