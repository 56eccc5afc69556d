/**
 * Writes what each database login can do, as an attempt of everything has shown: `npm run database-doors`. Tests compare
 * the database with the file, and SECURITY.md with it. Read the difference before you commit it: a new line is an open
 * door.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { migrateDatabase } from '../../../src/compose/migrate-database.ts'
import { startPostgres } from '../../../src/sandbox/postgres.ts'
import { findDoors } from '../../support/doors.ts'
import { doorsTable, withDoors } from '../../support/doors-page.ts'
import { makeProcessLogins } from '../../support/process-logins.ts'

const FILE = fileURLToPath(new URL('doors.json', import.meta.url))
const PAGE = fileURLToPath(new URL('../../../SECURITY.md', import.meta.url))
const MIGRATIONS = fileURLToPath(new URL('../../../prisma/migrations', import.meta.url))

const directory = await mkdtemp(join(tmpdir(), 'bursar-doors-'))
const postgres = await startPostgres({ directory, settings: { fsync: 'off' } })
const owner = new pg.Pool({ connectionString: postgres.url })
owner.on('error', () => undefined) // The server stops while the last connection is closing.
try {
  await migrateDatabase(owner, { databaseUrl: postgres.url, directory: MIGRATIONS, queues: true, logins: [] })
  const { urlOf } = await makeProcessLogins(owner, postgres.url)
  const doors = await findDoors(owner, urlOf)
  writeFileSync(FILE, `${JSON.stringify(doors, null, 1)}\n`)
  writeFileSync(PAGE, withDoors(readFileSync(PAGE, 'utf8'), doorsTable(doors)))
  process.stdout.write(`${doors.tried.events.length} event types, ${Object.keys(doors.tried.tables).length} tables\n`)
} finally {
  await owner.end()
  await postgres.stop()
  await rm(directory, { recursive: true, force: true })
}
