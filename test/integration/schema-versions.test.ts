/**
 * Old and new programs on one database: a later migration says which of them still run. The others refuse to start, and end
 * when they run already.
 */
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { checkDatabase } from '../../src/compose/check-database.ts'
import { composeKernel } from '../../src/compose/kernel.ts'
import { loadConfig } from '../../src/compose/load-config.ts'
import { migrateDatabase } from '../../src/compose/migrate-database.ts'
import { readDatabaseFacts } from '../../src/event-log/database-facts.ts'
import { migrate } from '../../src/event-log/migrate.ts'
import { migrationNames } from '../../src/event-log/migrations.ts'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { MIGRATIONS, withDatabase } from '../support/postgres.ts'
import { runToItsEnd } from '../support/run-program.ts'
import { withStage } from '../support/service-stage.ts'

/** Of later programs: the first runs beside this one, the second does not. */
const COMPATIBLE = '20991231000000_compatible'
const BREAKING = '20991231000100_breaking'
const known = await migrationNames()
const newest = known.at(-1) ?? ''

/** The migrations of a program that has these besides ours. */
async function migrationsWith(t: Test, more: Readonly<Record<string, string>>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-later-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  await cp(MIGRATIONS, directory, { recursive: true })
  for (const [name, sql] of Object.entries(more)) {
    await mkdir(join(directory, name))
    await writeFile(join(directory, name, 'migration.sql'), sql)
  }
  return directory
}

const LATER = {
  [COMPATIBLE]: `-- Another table.\n-- Oldest program: ${newest}\nCREATE TABLE of_a_later_program (id text);\n`,
}
const LATEST = { ...LATER, [BREAKING]: 'ALTER TABLE of_a_later_program RENAME TO of_the_latest_program;\n' }

t.test('a program keeps accepting and settling after a migration that allows it', async (t) => {
  const { url, pool } = await withDatabase(t)
  const stage = await withStage(t, { databaseUrl: url })
  const [payer] = (await stage.service.makeWallets(1)) as [LoadWallet]
  const before = await stage.send(payer, '0.1')
  const settings = { databaseUrl: url, queues: true, logins: [] }
  matchExactly(t, await migrateDatabase(pool, { ...settings, directory: await migrationsWith(t, LATER) }), {
    applied: [COMPATIBLE],
    unknown: [],
  })
  const after = await stage.send(payer, '0.2')
  await stage.settle()
  for (const id of [before, after]) t.match(await stage.until(payer, id, 'confirmed'), { status: 'confirmed' })
  t.equal((await readDatabaseFacts(pool)).refusal, null)
  t.match(await runToItsEnd('keys list', { DATABASE_URL: url }), { code: 0, complaint: '' }, 'a command of it starts')

  await pool.query('GRANT SELECT ON of_a_later_program TO bursar_api')
  await pool.query("UPDATE role_rights SET events = events || 'note:NoteWritten'::text WHERE role = 'bursar_api'")
  t.match(
    await runToItsEnd('migrate', { DATABASE_URL: url }),
    { code: 0, out: COMPATIBLE, complaint: '' },
    'its migrate succeeds, so that compose starts it',
  )
  const { rowCount } = await pool.query("SELECT FROM role_rights WHERE 'note:NoteWritten' = ANY (events)")
  t.equal(rowCount, 1, 'and leaves the rights of the newer program as they are')
})

t.test('after a migration that does not allow it, a program refuses to start and ends', async (t) => {
  const { url, pool } = await withDatabase(t)
  const kernel = composeKernel(loadConfig({ DATABASE_URL: url, LOG_LEVEL: 'silent' }), 'signer')
  t.after(() => kernel.close())
  const stopping = new AbortController()
  t.after(() => stopping.abort())
  const ended = new Promise<Error>((resolve) => {
    // On a busy machine its first check may come after the migration.
    checkDatabase(kernel, stopping.signal, resolve, { retryMs: 10, everyMs: 10 }).catch(resolve)
  })
  await migrate(pool, await migrationsWith(t, LATEST))
  const { message } = await ended
  t.equal(
    message,
    `The schema of the database is ${BREAKING}, and this version of Bursar knows only ${newest}: ` +
      `start the newer version, which knows at least ${BREAKING}, or go back as docs/deployment.md describes.`,
    'a process that runs ends',
  )
  const env = { DATABASE_URL: url, DATA_DIR: t.testdir(), LOG_LEVEL: 'silent' }
  for (const program of ['api', 'signer', 'migrate', 'bursar replay'])
    t.match(await runToItsEnd(program, env), { code: 1, complaint: `${message}\n` }, program)
  const stuck = await runToItsEnd('bursar stuck', env)
  t.match(stuck.out, /database_unfit · database\n.*knows only/, 'stuck runs and reports it')
})

t.test('a program refuses an older database and names the command, and migrate records every version', async (t) => {
  const { url, pool } = await withDatabase(t)
  const older = await mkdtemp(join(tmpdir(), 'bursar-older-'))
  t.after(() => rm(older, { recursive: true, force: true }))
  for (const name of await readdir(MIGRATIONS))
    if (name < '20261124001100') await cp(join(MIGRATIONS, name), join(older, name), { recursive: true })
  await pool.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
  const refusal = async () => (await readDatabaseFacts(pool)).refusal?.message ?? null
  t.match(await refusal(), /needs \S+: run npm run migrate\.$/, 'one that is empty')
  await migrate(pool, older)
  t.match(await refusal(), /is older than its record of migrations, .* needs \S+: run npm run migrate\.$/)
  const env = { DATABASE_URL: url, DATA_DIR: t.testdir(), LOG_LEVEL: 'silent' }
  t.match(await runToItsEnd('dispatcher', env), { code: 1, complaint: /^The schema [^\n]* run npm run migrate\.\n$/ })
  await migrate(pool, MIGRATIONS)
  t.equal(await refusal(), null)
  const { rows } = await pool.query('SELECT migration FROM schema_versions ORDER BY migration')
  t.strictSame(
    rows.map(({ migration }) => migration),
    known,
  )
  await pool.query('DELETE FROM schema_versions WHERE migration = $1', [newest])
  t.match(await refusal(), `The schema of the database is ${known.at(-2)}, and this version of Bursar needs ${newest}`)
})
