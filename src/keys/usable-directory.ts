/**
 * Checks a directory of the settings before anything depends on it, so that a file, a read-only mount or one that hangs
 * ends a start with one line.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DirectoryHangs, InvalidSetting } from '../core/errors.ts'
import { isMissing } from './private-files.ts'

/** For a few system calls, ms. A file system that takes longer would stop every signature. */
const PATIENCE_MS = 4_000

const REASONS: Readonly<Record<string, string>> = {
  ENOTDIR: 'a part of it is a file',
  EEXIST: 'it is a file',
  EROFS: 'its file system is read-only',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  ENOENT: 'it cannot be created there',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk is full',
  ELOOP: 'it is a loop of links',
  ENAMETOOLONG: 'the name is too long',
}

export type DirectoryUse = {
  /** Whether a file is created and removed again; otherwise it is only listed. */
  readonly writes: boolean
  readonly patienceMs?: number
  /** Replaces the system calls. */
  readonly attempt?: (directory: string) => Promise<unknown>
}

/**
 * Creates the directory if necessary, and uses it.
 *
 * @param setting the name of the setting, for the message
 * @throws InvalidSetting within `patienceMs`; `DirectoryHangs` when it took all of them
 */
export async function requireUsableDirectory(
  directory: string,
  setting: string,
  { writes, patienceMs = PATIENCE_MS, attempt = writes ? tryWriting : tryReading }: DirectoryUse,
): Promise<void> {
  const use = `be ${writes ? 'written to' : 'read'}`
  await withPatience(() => attempt(directory), { directory, setting, patienceMs, use })
}

/**
 * Whether a directory of the settings exists; it is not created.
 *
 * @throws InvalidSetting as `requireUsableDirectory` does
 */
export async function directoryExists(directory: string, setting: string): Promise<boolean> {
  const look = () =>
    stat(directory).then(
      () => true,
      (error: unknown) => {
        if (isMissing(error)) return false
        throw error
      },
    )
  return withPatience(look, { directory, setting, patienceMs: PATIENCE_MS, use: 'be read' })
}

async function withPatience<T>(
  attempt: () => Promise<T>,
  {
    directory,
    setting,
    patienceMs,
    use,
  }: { readonly directory: string; readonly setting: string; readonly patienceMs: number; readonly use: string },
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const rule = `must be a directory that answers: ${directory} did not within ${patienceMs / 1_000} s.`
    timer = setTimeout(() => reject(new DirectoryHangs(setting, rule)), patienceMs)
  })
  try {
    return await Promise.race([attempt(), late])
  } catch (error) {
    if (error instanceof InvalidSetting) throw error
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    const rule = `must be a directory that can ${use}, not ${directory}: ${REASONS[code] ?? code}.`
    throw new InvalidSetting(setting, rule)
  } finally {
    clearTimeout(timer)
  }
}

async function tryReading(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await readdir(directory)
}

async function tryWriting(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const path = join(directory, `.${randomUUID()}.tmp`)
  await writeFile(path, '', { flag: 'wx', mode: 0o600 })
  await unlink(path)
}
