/**
 * Replaces many files of one directory, or adds some, atomically: all or none, after a crash at any moment.
 *
 * The new versions are written and synced in a folder beside the old ones. One rename commits that folder; from then on
 * any process that opens the directory moves its files into place, which needs no key. Readers call `finishReplacing`
 * first.
 */
import { randomUUID } from 'node:crypto'
import { link, lstat, mkdir, open, readdir, rename, rm, rmdir, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Unavailable } from '../core/errors.ts'
import { isMissing, syncDirectory } from './private-files.ts'

/** Being written: not committed. */
const STAGED = '.rotation.part'
/** Committed: its files replace those of the same names. */
export const COMMITTED = '.rotation'
/** Committed: its files are added, and existing ones stay. Several may exist, each with its own name. */
const ADDED = /^\.added-[0-9a-f-]{36}$/

/** Being written by `addFiles`. */
const ADDING = /^\.added-[0-9a-f-]{36}\.part$/

/** @param name relative to the directory, with at most one folder: `kek`, `shares/mkey_1.1.generated.share` */
export type NewVersion = { readonly name: string; readonly contents: string | Uint8Array }

/**
 * Replaces files. The caller ensures that one process at a time does this to a directory.
 *
 * @param beforeCommit runs last before the commit; if it throws, the old versions stay
 * @returns the number of files replaced
 */
export async function replaceFiles(
  directory: string,
  versions: AsyncIterable<NewVersion>,
  beforeCommit: () => Promise<void>,
): Promise<number> {
  await finishReplacing(directory)
  const staged = join(directory, STAGED)
  await removeUncommitted(directory)
  await mkdir(staged, { mode: 0o700 })
  const folders = new Set([staged])
  let replaced = 0
  try {
    for await (const { name, contents } of versions) {
      const path = join(staged, name)
      if (!folders.has(dirname(path))) await mkdir(dirname(path), { mode: 0o700 })
      folders.add(dirname(path))
      await writeSynced(path, contents)
      replaced += 1
    }
    for (const folder of folders) await syncDirectory(folder)
    await beforeCommit()
  } catch (error) {
    await rm(staged, { recursive: true, force: true })
    throw error
  }
  await rename(staged, join(directory, COMMITTED))
  await syncDirectory(directory)
  await finishReplacing(directory)
  return replaced
}

/** Leftovers of runs that were killed before their commit. */
async function removeUncommitted(directory: string): Promise<void> {
  const left = (await readdir(directory)).filter((name) => name === STAGED || ADDING.test(name))
  for (const name of left) await rm(join(directory, name), { recursive: true, force: true })
}

/**
 * Adds files with at most one folder in their names. Existing files stay as they are, also those that others create
 * meanwhile. The caller ensures that one process at a time adds or replaces files of a directory.
 */
export async function addFiles(directory: string, files: readonly NewVersion[]): Promise<void> {
  const committed = join(directory, `.added-${randomUUID()}`)
  const staged = `${committed}.part`
  await removeUncommitted(directory)
  try {
    await mkdir(staged, { mode: 0o700 })
    for (const { name, contents } of files) await writeSynced(join(staged, name), contents)
    await syncDirectory(staged)
  } catch (error) {
    await rm(staged, { recursive: true, force: true })
    throw error
  }
  await rename(staged, committed)
  await syncDirectory(directory)
  await finishReplacing(directory)
}

async function finishAdding(directory: string): Promise<boolean> {
  const folders = ((await unlessMissing(readdir(directory))) ?? []).filter((name) => ADDED.test(name))
  for (const folder of folders) {
    const committed = join(directory, folder)
    await requireNoLink(committed)
    const names = (await filesIn(committed)) ?? []
    // Unlike rename, link refuses an existing name. Another process may do the same.
    for (const name of names) await unlessExists(unlessMissing(link(join(committed, name), join(directory, name))))
    await syncDirectory(directory)
    for (const name of names) await unlessMissing(unlink(join(committed, name)))
    await unlessMissing(rmdir(committed))
  }
  return folders.length > 0
}

async function unlessExists(work: Promise<unknown>): Promise<void> {
  await work.catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
}

/**
 * Moves committed new versions into place that were not all moved. Any number of processes may do it at once, and it
 * may be interrupted at any point: the next call continues.
 *
 * @returns whether there was something to finish
 * @throws Unavailable `directory_has_link` when a folder is a link: it would move files of another directory
 */
export async function finishReplacing(directory: string): Promise<boolean> {
  const isAdded = await finishAdding(directory)
  const committed = join(directory, COMMITTED)
  await requireNoLink(committed)
  const names = await filesIn(committed)
  if (names === undefined) return isAdded
  const folders = new Set(names.map((name) => dirname(name)))
  for (const folder of folders) if (folder !== '.') await requireNoLink(join(directory, folder))
  for (const name of names) await unlessMissing(rename(join(committed, name), join(directory, name)))
  // The moves are made durable before the folder that records them is removed.
  for (const folder of folders) await syncDirectory(join(directory, folder))
  await removeEmpty(committed)
  await syncDirectory(directory)
  return true
}

async function requireNoLink(path: string): Promise<void> {
  if (!(await unlessMissing(lstat(path)))?.isSymbolicLink()) return
  throw new Unavailable('directory_has_link', `${path} is a link to another directory: remove it. Nothing was moved.`)
}

async function filesIn(folder: string): Promise<string[] | undefined> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })
  return entries
    ?.filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
}

/** Removes only empty folders: a file still in one is its only valid copy. */
async function removeEmpty(committed: string): Promise<void> {
  for (const entry of (await unlessMissing(readdir(committed))) ?? []) {
    await unlessMissing(rmdir(join(committed, entry)))
  }
  await unlessMissing(rmdir(committed))
}

async function writeSynced(path: string, contents: string | Uint8Array): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(contents)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}
