/** Migrates a database to the newest schema, including the roles of processes and their privileges. */
import type { Pool } from 'pg'
import { migrate } from '../event-log/migrate.ts'
import { migrateQueues } from '../jobs/postgres.ts'
import { applyDatabaseRoles } from './database-roles/apply-roles.ts'
import { type DatabaseLogin, makeLogins } from './database-roles/logins.ts'
import { limitIdleTransactions } from './limit-idle-transactions.ts'

export type MigrateSettings = {
  readonly databaseUrl: string
  /** The directory of the SQL files. */
  readonly directory: string
  /** Whether the queues are in this database too. */
  readonly queues: boolean
  readonly logins: readonly DatabaseLogin[]
}

/**
 * Must run as the owner of the tables. Returns the names of the applied migrations.
 *
 * @param pool of the same database
 * @throws Conflict `roles_not_allowed`, `login_too_powerful`; the migrations stay applied then
 */
export async function migrateDatabase(pool: Pool, settings: MigrateSettings): Promise<string[]> {
  const applied = await migrate(pool, settings.directory)
  if (settings.queues) await migrateQueues(settings.databaseUrl)
  await applyDatabaseRoles(pool)
  await makeLogins(pool, settings.logins)
  await limitIdleTransactions(pool)
  return applied
}
