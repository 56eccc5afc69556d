/**
 * Files that only their owner can read (0600, in a directory of 0700) unless they are public. Writes are atomic for
 * readers, and durable after the call, even on a power cut.
 */
import { randomUUID } from 'node:crypto'
import { chmod, type FileHandle, link, mkdir, open, rename, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'

export const SEALED_FILE_SUFFIX = '.sealed.json'
const OWNER_ONLY = 0o600

/** Creates the directory if necessary and removes the access of group and others. */
export async function preparePrivateDirectory(directory: string): Promise<void> {
  const made = await mkdir(directory, { recursive: true, mode: 0o700 })
  if (made !== undefined) await syncDirectory(dirname(made))
  if (((await stat(directory)).mode & 0o077) !== 0) await chmod(directory, 0o700)
}

/**
 * Creates a file unless it exists; an existing file stays unchanged.
 *
 * @param mode readable by its owner only, unless it is public
 * @returns whether this call created it
 */
export async function createFileOnce(path: string, contents: string | Uint8Array, mode = OWNER_ONLY): Promise<boolean> {
  return withTemporaryFile(path, contents, mode, async (temporary) => {
    try {
      // Unlike rename, link refuses an existing name: of many processes exactly one wins.
      await link(temporary, path)
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
      throw error
    }
  })
}

/** Replaces a file atomically. @param mode readable by its owner only, unless it is public */
export async function replaceFile(path: string, contents: string | Uint8Array, mode = OWNER_ONLY): Promise<void> {
  await withTemporaryFile(path, contents, mode, (temporary) => rename(temporary, path))
}

/** Whether a file operation failed because the file does not exist. */
export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

async function withTemporaryFile<T>(
  path: string,
  contents: string | Uint8Array,
  mode: number,
  place: (temporary: string) => Promise<T>,
): Promise<T> {
  const temporary = join(dirname(path), `.${randomUUID()}.tmp`)
  const file = await open(temporary, 'wx', mode)
  try {
    await writeWhole(file, contents)
    const placed = await place(temporary)
    await syncDirectory(dirname(path))
    return placed
  } finally {
    // After a successful rename it no longer exists. A file truncated by a full disk must not take space.
    await unlink(temporary).catch((error: unknown) => {
      if (!isMissing(error)) throw error
    })
  }
}

async function writeWhole(file: FileHandle, contents: string | Uint8Array): Promise<void> {
  try {
    await file.writeFile(contents)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** A created or removed name is durable once its directory is synced. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
