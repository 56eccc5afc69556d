/**
 * A fresh database for each test on a real PostgreSQL: the server of TEST_DATABASE_URL, or one that this test process
 * starts once and removes at its end. Migrations are applied once, to a template that databases are copied from. The
 * server of a test process is itself a copy of a prepared cluster that has this template.
 */
import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import tap, { type Test } from 'tap'
import { filesBelow, fingerprint } from '../../scripts/fingerprint.mjs'
import { roleRights } from '../../src/compose/database-roles/role-rights.ts'
import { migrateDatabase } from '../../src/compose/migrate-database.ts'
import { TABLES } from '../../src/declarations.ts'
import { migrate } from '../../src/event-log/migrate.ts'
import { startPostgres } from '../../src/sandbox/postgres.ts'

export type TestDatabase = {
  readonly url: string
  /** Ended after the test. */
  readonly pool: pg.Pool
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CLUSTERS = join(ROOT, 'node_modules/.cache/test-clusters')
/** What a new database depends on: migrations, roles, the tables of the queues, the server itself. */
const CLUSTER_SOURCES = ['src/compose', 'src/event-log', 'src/jobs', 'src/sandbox', 'prisma', 'package-lock.json']
/** Test data need not survive a power failure; everything else is as in production. */
const QUICK = { fsync: 'off', shared_buffers: '32MB' } as const
export const MIGRATIONS = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))
/** Any number that no other program of the server uses: one process at a time creates the template. */
const TEMPLATE_LOCK = 4_117_002

type Server = { readonly url: string; readonly template: string }
let server: Promise<Server> | undefined

/**
 * A database with every migration applied and no rows; dropped after the test even if clients are connected.
 *
 * @param settings of the pool's connections
 */
export async function withDatabase(
  t: Test,
  settings: Pick<pg.PoolConfig, 'statement_timeout'> = {},
): Promise<TestDatabase> {
  server ??= prepareServer()
  const { url: serverUrl, template } = await server
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await administer(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${template}`)
  const url = withName(serverUrl, name)
  const pool = new pg.Pool({ connectionString: url, max: 10, ...settings })
  pool.on('error', () => undefined) // A test may kill connections.
  t.after(async () => {
    await pool.end()
    await administer(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`)
  })
  return { url, pool }
}

async function prepareServer(): Promise<Server> {
  const url = process.env.TEST_DATABASE_URL ?? (await startOwnServer())
  return { url, template: await prepareTemplate(url) }
}

async function startOwnServer(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-test-'))
  await promisify(execFile)('cp', ['-a', `${await preparedCluster()}/.`, directory])
  const postgres = await startPostgres({ directory, settings: QUICK })
  postgres.unref() // Does not keep the test process alive; the server is removed below.
  tap.after(async () => {
    await postgres.stop()
    await rm(directory, { recursive: true, force: true })
  })
  return postgres.url
}

/**
 * The directory of a stopped server that has the template. Each test process uses a copy, so roles and settings belong to
 * one process alone. A copy takes much less processor time than `initdb` and all migrations. The cluster is created again
 * after any change of what it depends on.
 *
 * Invariant: a directory with that name is complete. It is created under another name and then renamed; two processes may
 * do so at the same time.
 */
async function preparedCluster(): Promise<string> {
  const name = fingerprint(ROOT, filesBelow(ROOT, CLUSTER_SOURCES)).slice(0, 16)
  const prepared = join(CLUSTERS, name)
  if (existsSync(prepared)) return prepared
  await mkdir(CLUSTERS, { recursive: true })
  const making = await mkdtemp(join(CLUSTERS, 'making-'))
  const postgres = await startPostgres({ directory: making, settings: QUICK })
  await prepareTemplate(postgres.url).finally(() => postgres.stop())
  await rm(join(making, 'port'))
  await rename(making, prepared).catch((error: NodeJS.ErrnoException) => {
    if (!existsSync(prepared)) throw error // Another process was faster; its cluster is equivalent.
  })
  await rm(making, { recursive: true, force: true })
  return prepared
}

/** Named by a digest of the migrations, so that a server that outlives a test run never serves an old schema. */
async function prepareTemplate(serverUrl: string): Promise<string> {
  const name = `template_${await digestOfMigrations()}`
  const client = new pg.Client({ connectionString: serverUrl })
  await client.connect()
  try {
    await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK])
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name])
    if (rowCount === 1) return name
    const making = `${name}_new`
    await client.query(`DROP DATABASE IF EXISTS ${making} WITH (FORCE)`)
    await client.query(`CREATE DATABASE ${making}`)
    const pool = new pg.Pool({ connectionString: withName(serverUrl, making), max: 1 })
    const settings = { databaseUrl: withName(serverUrl, making), directory: MIGRATIONS, queues: true, logins: [] }
    await migrateDatabase(pool, settings).finally(() => pool.end())
    await client.query(`ALTER DATABASE ${making} RENAME TO ${name}`)
    return name
  } finally {
    await client.end()
  }
}

async function digestOfMigrations(): Promise<string> {
  const digest = createHash('sha256').update(JSON.stringify([roleRights(), TABLES]))
  for (const name of (await readdir(MIGRATIONS)).sort()) {
    digest.update(name)
    digest.update(await readFile(join(MIGRATIONS, name, 'migration.sql')).catch(() => ''))
  }
  return digest.digest('hex').slice(0, 16)
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}

function withName(url: string, name: string): string {
  const copy = new URL(url)
  copy.pathname = `/${name}`
  return copy.href
}

/** @param end the first migration that the database does not have: names that begin with it, and later ones */
export async function withOlderDatabase(t: Test, end: string): Promise<TestDatabase> {
  const database = await withDatabase(t)
  await database.pool.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
  const older = await mkdtemp(join(tmpdir(), 'bursar-migrations-'))
  t.after(() => rm(older, { recursive: true, force: true }))
  for (const name of await readdir(MIGRATIONS))
    if (name < end) await cp(join(MIGRATIONS, name), join(older, name), { recursive: true })
  await migrate(database.pool, older)
  return database
}
