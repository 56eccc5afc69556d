/** Migrates a database to the newest schema, including the roles of processes and their privileges. */
import type { Pool } from 'pg'
import { type Migrated, migrate } from '../event-log/migrate.ts'
import { type OnPassed, passLoggedIds } from '../event-log/pass-ids.ts'
import { migrateQueues } from '../jobs/postgres.ts'
import { applyDatabaseRoles } from './database-roles/apply-roles.ts'
import { type DatabaseLogin, makeLogins } from './database-roles/logins.ts'
import { limitIdleTransactions } from './limit-idle-transactions.ts'

/**
 * Must run as the owner of the tables. Afterwards the next append comes after every event of the log, also if the log was
 * restored into another server. A database that a newer program migrated keeps its schema and its roles.
 *
 * @param pool of the same database
 * @throws Conflict `schema_too_new`; `roles_not_allowed`, `login_too_powerful`: the migrations stay applied then
 */
export async function migrateDatabase(
  pool: Pool,
  {
    databaseUrl,
    directory,
    queues,
    logins,
    onIdsPassed = () => undefined,
  }: {
    readonly databaseUrl: string
    /** The directory of the SQL files. */
    readonly directory: string
    /** Whether the queues are in this database too. */
    readonly queues: boolean
    readonly logins: readonly DatabaseLogin[]
    /** After pg_restore into another server there may be millions of ids to pass. */
    readonly onIdsPassed?: OnPassed
  },
): Promise<Migrated> {
  const migrated = await migrate(pool, directory)
  await passLoggedIds(pool, onIdsPassed)
  // The roles of this program lack privileges that the newer one needs.
  if (migrated.unknown.length > 0) return migrated
  if (queues) await migrateQueues(databaseUrl)
  await applyDatabaseRoles(pool)
  await makeLogins(pool, logins)
  await limitIdleTransactions(pool)
  return migrated
}
