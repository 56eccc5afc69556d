/**
 * A real, durable PostgreSQL in a directory, without an installation: created on the first start, reused on the next,
 * reachable only from this machine and only with the password in its directory.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { keptPort } from './ports.ts'
import { type AccountKind, choosePostgresAccount, giveTo, type PostgresAccount } from './postgres-account.ts'
import { findPostgresBinaries } from './postgres-binaries.ts'
import { type Child, type Exit, startChild, stopChild, stopLeftover } from './processes.ts'

export type Postgres = {
  /** With a superuser and the database `bursar`. */
  readonly url: string
  readonly port: number
  /** The postmaster's pid. */
  readonly pid: number
  /** Resolves when the server has exited, for any reason. */
  readonly exited: Promise<Exit>
  /** Ends every connection, writes all data to disk, and returns when the server has exited. */
  readonly stop: () => Promise<void>
  /** Allows this process to exit while the server runs. */
  readonly unref: () => void
}

const USER = 'bursar'
const DATABASE = 'bursar'

/** Enough for 17 processes with a pool of 20 each, and the connections that BullMQ opens per queue and worker. */
const MAX_CONNECTIONS = '500'
/** A server that is not ready by then logs the reason. Crash recovery of a large log takes seconds. */
const READY_TIMEOUT_MS = 60_000
/** After a kill -9 the old server's children need a moment to release the shared memory. */
const START_ATTEMPTS = 20
const START_PAUSE_MS = 250
/** A fast shutdown writes a checkpoint; after this time the server is killed and recovers at the next start. */
const STOP_GRACE_MS = 15_000

const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: MAX_CONNECTIONS,
  shared_buffers: '128MB',
  fsync: 'on',
  synchronous_commit: 'on',
  // The application reports refused statements, and expects some of them as conflicts.
  log_min_messages: 'log',
  log_checkpoints: 'off',
  // Fewer checkpoints: after each one, changed pages are logged in full once more.
  max_wal_size: '2GB',
  // Commits flush the log themselves, except those of queues, which may be lost: at rest it wakes less often.
  wal_writer_delay: '2s',
}

/**
 * Starts the server and returns when it accepts connections.
 *
 * @throws Error with the end of the server's log when it does not start
 */
export async function startPostgres(options: {
  /** Created if missing. One server at a time: one left running by an earlier run is stopped. */
  readonly directory: string
  /** Server settings in addition to the defaults: `{ fsync: 'off' }`. */
  readonly settings?: Readonly<Record<string, string>>
  /** The account of the server; by default what the system allows. */
  readonly account?: AccountKind
}): Promise<Postgres> {
  const directory = resolve(options.directory)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const account = await choosePostgresAccount(await findPostgresBinaries(), directory, options.account)
  const data = join(account.home, 'data')
  const passwordFile = join(directory, 'password')
  await stopEarlierServer(data)
  if (account.home !== directory && !existsSync(passwordFile)) {
    // When the directory was emptied, related files outside it are deleted too.
    await rm(data, { recursive: true, force: true })
  }
  const password = await keptPassword(passwordFile)
  if (!existsSync(data)) await initialise(account, data, password)
  const port = await keptPort(join(directory, 'port'))
  const logFile = join(directory, 'postgres.log')
  const settings = { ...SETTINGS, ...options.settings, port: String(port) }
  const child = await launch(account, data, settings, logFile)
  const url = `postgresql://${USER}:${password}@127.0.0.1:${port}/`
  await createDatabase(`${url}postgres`)
  return {
    url: `${url}${DATABASE}`,
    port,
    pid: child.pid,
    exited: child.exited,
    stop: () => stopChild(child, 'SIGINT', STOP_GRACE_MS),
    unref: child.unref,
  }
}

async function keptPassword(file: string): Promise<string> {
  const kept = await readFile(file, 'utf8').catch(() => '')
  if (kept !== '') return kept.trim()
  const password = randomBytes(24).toString('base64url')
  await writeFile(file, `${password}\n`, { mode: 0o600 })
  return password
}

/** Created under another name and then renamed: a directory called `data` is always complete. */
async function initialise(account: PostgresAccount, data: string, password: string): Promise<void> {
  const making = `${data}.new`
  const passwordFile = `${data}.password`
  await rm(making, { recursive: true, force: true })
  await mkdir(making, { mode: 0o700 })
  await giveTo(account, making)
  await writeFile(passwordFile, password, { mode: 0o600 })
  await giveTo(account, passwordFile)
  const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C']
  const access = [`--username=${USER}`, `--pwfile=${passwordFile}`, '--auth=scram-sha-256']
  const words = [...account.prefix, join(account.native, 'bin', 'initdb'), '-D', making, ...locale, ...access]
  const [command = '', ...args] = words
  try {
    await promisify(execFile)(command, args, {
      cwd: account.home,
      ...(account.uid === undefined ? {} : { uid: account.uid, gid: account.uid }),
    })
    await rename(making, data)
  } finally {
    await rm(passwordFile, { force: true })
  }
}

/**
 * The server of an earlier run may be alive (its supervisor was killed), or its pid may belong to another program now.
 */
async function stopEarlierServer(data: string): Promise<void> {
  const file = join(data, 'postmaster.pid')
  const pid = Number((await readFile(file, 'utf8').catch(() => '')).split('\n')[0])
  if (!Number.isInteger(pid) || pid <= 0) return
  const marker = `-D ${data} `
  const stopped = await stopLeftover(pid, marker, ['SIGINT', 'SIGQUIT', 'SIGKILL'], STOP_GRACE_MS)
  // PostgreSQL takes any living process with that pid for a server and would refuse to start.
  if (!stopped) await rm(file, { force: true })
}

async function launch(
  account: PostgresAccount,
  data: string,
  settings: Readonly<Record<string, string>>,
  logFile: string,
): Promise<Child> {
  for (let attempt = 1; ; attempt += 1) {
    const child = await startChild({
      command: join(account.native, 'bin', 'postgres'),
      args: ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      prefix: account.prefix,
      uid: account.uid,
      gid: account.gid,
      cwd: account.home,
      logFile,
      onParentDeath: 'INT',
    })
    if (await becomesReady(child, data)) return child
    if (attempt === START_ATTEMPTS) throw new Error(`PostgreSQL did not start:\n${await endOf(logFile)}`)
    await sleep(START_PAUSE_MS)
  }
}

/** The server writes its state into the last line of `postmaster.pid`, below its pid. */
async function becomesReady(child: Child, data: string): Promise<boolean> {
  let isGone = false
  void child.exited.then(() => {
    isGone = true
  })
  const deadline = Date.now() + READY_TIMEOUT_MS
  while (!isGone && Date.now() < deadline) {
    const lines = (await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
    if (lines[0] === String(child.pid) && lines[7]?.trim() === 'ready') return true
    await sleep(10)
  }
  await stopChild(child, 'SIGQUIT', STOP_GRACE_MS)
  return false
}

async function createDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined) // The running statement fails with the same error.
  await client.connect()
  try {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE])
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`)
  } finally {
    await client.end()
  }
}

async function endOf(file: string): Promise<string> {
  return (await readFile(file, 'utf8').catch(() => '')).split('\n').slice(-12).join('\n')
}
