/**
 * PostgreSQL refuses to run as root. Chooses the account and directory it runs with, without creating a user: the
 * current user; for root, a user namespace in which root appears as nobody (files stay root's); or, without namespaces
 * (most containers), the user nobody with directories that nobody may read.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, chown, cp, lstat, mkdir, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { PostgresBinaries } from './postgres-binaries.ts'

const NOBODY = 65534
const NAMESPACE = ['unshare', '--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`]

export type PostgresAccount = {
  /** Prepended to each command. */
  readonly prefix: readonly string[]
  readonly uid?: number
  readonly gid?: number
  /** Contains bin, lib and share. */
  readonly native: string
  /** The parent of the data directory. */
  readonly home: string
}

export type AccountKind = 'self' | 'namespace' | 'nobody'

/** @param directory where the caller wants the data @param kind forces one of the three, for tests */
export async function choosePostgresAccount(
  binaries: PostgresBinaries,
  directory: string,
  kind: AccountKind = suitableKind(),
): Promise<PostgresAccount> {
  if (kind === 'self') return { prefix: [], native: binaries.native, home: directory }
  if (kind === 'namespace') return { prefix: NAMESPACE, native: binaries.native, home: directory }
  const native = await readableNative(binaries)
  const home = await readableHome(directory)
  return { prefix: [], uid: NOBODY, gid: NOBODY, native, home }
}

function suitableKind(): AccountKind {
  if (process.getuid?.() !== 0) return 'self'
  const [command = '', ...args] = NAMESPACE
  return spawnSync(command, [...args, 'true']).status === 0 ? 'namespace' : 'nobody'
}

async function readableNative(binaries: PostgresBinaries): Promise<string> {
  if (nobodyCan('-x', join(binaries.native, 'bin', 'postgres'))) return binaries.native
  const copy = `/var/tmp/bursar-postgres-${binaries.version}`
  if (await lstat(copy).catch(() => undefined)) {
    await mustBeRoots(copy)
    return copy
  }
  const making = `${copy}.${process.pid}`
  await cp(binaries.native, making, { recursive: true, verbatimSymlinks: true })
  await chmod(making, 0o755)
  // A concurrent start may have been first: its copy is equivalent.
  await rename(making, copy).catch(() => rm(making, { recursive: true, force: true }))
  await mustBeRoots(copy)
  return copy
}

async function readableHome(directory: string): Promise<string> {
  await chmod(directory, 0o711) // Nobody may traverse it; its contents keep their own modes.
  if (nobodyCan('-x', directory)) return directory
  const outside = `/var/tmp/bursar-${createHash('sha256').update(resolve(directory)).digest('hex').slice(0, 16)}`
  await mkdir(outside, { recursive: true, mode: 0o711 })
  await mustBeRoots(outside)
  return outside
}

/** A predictable name in a world-writable directory: one created by another user must not be trusted. */
async function mustBeRoots(path: string): Promise<void> {
  const { uid } = await lstat(path)
  if (uid !== 0) throw new Error(`${path} belongs to another user: remove it`)
}

/** Gives a file or directory to the account, if it is not the current user. */
export async function giveTo(account: PostgresAccount, path: string): Promise<void> {
  if (account.uid !== undefined && account.gid !== undefined) await chown(path, account.uid, account.gid)
}

function nobodyCan(test: '-x', path: string): boolean {
  return spawnSync('test', [test, path], { uid: NOBODY, gid: NOBODY }).status === 0
}
