/**
 * A PostgreSQL server that a test can lose: copied while it runs, like a base backup, and started again from the copy
 * on the same port.
 */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import type { Test } from 'tap'
import { migrateDatabase } from '../../src/compose/migrate-database.ts'
import { type Postgres, startPostgres } from '../../src/sandbox/postgres.ts'
import { choosePostgresAccount, giveTo, type PostgresAccount } from '../../src/sandbox/postgres-account.ts'
import { findPostgresBinaries } from '../../src/sandbox/postgres-binaries.ts'
import { MIGRATIONS } from './postgres.ts'

/** Files of the running server that a copy must not have. */
const LEFT_OUT = ['postmaster.pid', 'postmaster.opts']

export type LosableServer = {
  readonly url: string
  /** Kills the server as a power failure does. */
  readonly kill: () => Promise<void>
  /** Starts the lost one again, from its own files. */
  readonly restart: () => Promise<void>
  /** A copy of the running server: a directory to start it from. */
  readonly copy: () => Promise<string>
  /** Starts a server from a copy, at the address of the lost one. */
  readonly restore: (copy: string, settings?: Parameters<typeof startPostgres>[0]['settings']) => Promise<void>
}

export const QUICK = { shared_buffers: '32MB', wal_level: 'replica' } as const

/** With every migration applied. */
export async function startMigratedServer(
  directory: string,
  settings: Parameters<typeof startPostgres>[0]['settings'] = {},
): Promise<Postgres> {
  const running = await startPostgres({ directory, settings: { ...QUICK, ...settings } })
  const { url } = running
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  await migrateDatabase(pool, { databaseUrl: url, directory: MIGRATIONS, queues: true, logins: [] })
  await pool.end()
  return running
}

/** A directory for the servers of a test, removed after it. */
export async function serversDirectory(t: Test): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-losable-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  return directory
}

/** With every migration applied; removed after the test. */
export async function withLosableServer(
  t: Test,
  settings: Parameters<typeof startPostgres>[0]['settings'] = {},
): Promise<LosableServer> {
  const directory = await serversDirectory(t)
  let copies = 0
  const own = join(directory, 'first')
  let running = await startMigratedServer(own, settings)
  let home = own
  t.after(() => running.stop())
  const { url } = running
  async function start(more: Parameters<typeof startPostgres>[0]['settings'] = {}): Promise<void> {
    running = await startPostgres({ directory: home, settings: { ...QUICK, ...settings, ...more } })
  }
  return {
    url,
    restart: () => start(),
    async kill() {
      process.kill(running.pid, 'SIGKILL')
      await running.exited
    },
    async copy() {
      copies += 1
      const target = join(directory, `copy-${copies}`)
      await copyServer(url, home, target)
      await cp(join(home, 'port'), join(target, 'port'))
      return target
    },
    async restore(copy, more = {}) {
      home = copy
      await start(more)
    },
  }
}

/**
 * A manual base backup: https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-LOWLEVEL-BASE-BACKUP
 *
 * @param isStandby the server started from it follows another one until it is promoted
 */
export async function copyServer(url: string, from: string, to: string, isStandby = false): Promise<void> {
  const [source, target] = [await accountOf(from), await accountOf(to)]
  const data = join(target.home, 'data')
  await mkdir(to, { recursive: true, mode: 0o700 })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query("SELECT pg_backup_start('copy', true)")
    await cp(join(source.home, 'data'), data, {
      recursive: true,
      filter: (path) => !LEFT_OUT.some((name) => path.endsWith(name)),
    })
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)')
    // Data written meanwhile is in the newest segments.
    await cp(join(source.home, 'data', 'pg_wal'), join(data, 'pg_wal'), { recursive: true })
    await writeFile(join(data, 'backup_label'), rows[0]?.labelfile ?? '')
    if (isStandby) await writeFile(join(data, 'standby.signal'), '')
  } finally {
    await client.end()
  }
  await cp(join(from, 'password'), join(to, 'password'))
  await giveAll(target, data)
}

async function accountOf(directory: string): Promise<PostgresAccount> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  return choosePostgresAccount(await findPostgresBinaries(), directory)
}

async function giveAll(account: PostgresAccount, path: string): Promise<void> {
  await giveTo(account, path)
  if (account.uid !== undefined) await promisify(execFile)('chown', ['-R', `${account.uid}:${account.gid}`, path])
}
