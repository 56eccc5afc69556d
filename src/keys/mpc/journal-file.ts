/**
 * An append-only file of records, one line each. Each line is durable before `append` resolves and is hash-chained to
 * the one before. A last line that a power cut truncated is dropped on opening, since its append never resolved; damage
 * elsewhere is refused.
 */
import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, open, readFile, rename, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Unavailable } from '../../core/errors.ts'
import { createFileOnce, syncDirectory } from '../private-files.ts'

const HASH_LENGTH = 16
const LINE = /^([0-9a-f]{16}) (.*)$/s
/** The hash that the first line is chained to; names the format and its version. */
const GENESIS = 'bursar mpc journal 1'
const OWNER_ONLY = 0o600

export type JournalFile = {
  /**
   * Appends a line. A failed append does not count, even if part of it reached the disk.
   *
   * @throws Unavailable `mpc_journal_full` or `mpc_journal_failed`
   */
  readonly append: (record: unknown) => Promise<void>
  /** Replaces all lines with one. Throws as `append` does; the file is then unchanged, or accepts nothing more. */
  readonly rewrite: (record: unknown) => Promise<void>
  readonly close: () => Promise<void>
}

/**
 * @returns the file, its records, and how many bytes of a truncated last line were dropped
 * @throws Unavailable `mpc_journal_damaged` naming the line
 */
export async function openJournalFile(
  path: string,
): Promise<{ readonly file: JournalFile; readonly records: readonly unknown[]; readonly torn: number }> {
  await createFileOnce(path, '')
  const contents = await readFile(path)
  const { records, hash, length } = parse(path, contents)
  const handle = await open(path, 'a')
  return { file: createWriter(path, { handle, hash, length }), records, torn: contents.length - length }
}

/** The end of the file that is known to be on disk. */
type End = { readonly handle: FileHandle; readonly hash: string; readonly length: number }

function createWriter(path: string, opened: End): JournalFile {
  let end = opened
  /**
   * There may be bytes after the end: a truncated line, or one whose write failed. They are removed before the next
   * line.
   */
  let doubtful = true
  let unusable = false

  return {
    async append(record) {
      if (unusable) throw failed(path, new Error('the state of the journal is unknown after an earlier failure'))
      const { handle, length } = end
      const { bytes, hash } = lineOf(end.hash, record)
      try {
        if (doubtful) await handle.truncate(length)
        doubtful = true
        await handle.appendFile(bytes)
        await handle.datasync()
      } catch (error) {
        throw failed(path, error)
      }
      doubtful = false
      end = { handle, hash, length: length + bytes.length }
    },

    async rewrite(record) {
      const { bytes, hash } = lineOf(GENESIS, record)
      const temporary = `${path}.${randomUUID()}.tmp`
      let renamed = false
      const handle = await open(temporary, 'ax', OWNER_ONLY).catch((error: unknown) => {
        throw failed(path, error)
      })
      try {
        await handle.appendFile(bytes)
        await handle.sync()
        await rename(temporary, path)
        renamed = true
        await syncDirectory(dirname(path))
      } catch (error) {
        // After the rename it is unknown which of the two files survives a power cut: no further write is accepted.
        unusable = renamed
        await handle.close()
        if (!renamed) await unlink(temporary)
        throw failed(path, error)
      }
      await end.handle.close()
      doubtful = false
      end = { handle, hash, length: bytes.length }
    },

    close: () => end.handle.close(),
  }
}

function parse(path: string, contents: Buffer) {
  const records: unknown[] = []
  let hash = GENESIS
  let at = 0
  for (let newline = contents.indexOf('\n'); newline !== -1; newline = contents.indexOf('\n', at)) {
    const [, stated, json = ''] = LINE.exec(contents.toString('utf8', at, newline)) ?? []
    const line = { hash: hashOf(hash, json), json }
    if (line.hash !== stated) {
      // Pages of a write reach the disk in any order, so a truncated line may have its end; missing parts read as
      // zeros.
      const torn = newline === contents.length - 1 && contents.subarray(at).includes(0)
      if (torn) break
      throw damaged(path, records.length + 1)
    }
    records.push(JSON.parse(json))
    hash = line.hash
    at = newline + 1
  }
  return { records, hash, length: at }
}

function lineOf(previous: string, record: unknown): { readonly bytes: Buffer; readonly hash: string } {
  const json = JSON.stringify(record)
  const hash = hashOf(previous, json)
  return { bytes: Buffer.from(`${hash} ${json}\n`), hash }
}

function hashOf(previous: string, json: string): string {
  return createHash('sha256').update(`${previous}\n${json}`).digest('hex').slice(0, HASH_LENGTH)
}

/** The file is corrupted: nothing that depends on it may continue. */
export function damaged(path: string, line: number): Unavailable {
  return new Unavailable(
    'mpc_journal_damaged',
    `${path} is damaged from line ${line} on (two processes of one party also cause this): restore it from a backup, ` +
      'because without it this party does not know what it has signed.',
  )
}

function failed(path: string, cause: unknown): Unavailable {
  const { code } = cause as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT'
    ? new Unavailable('mpc_journal_full', `Cannot write ${path}: the disk is full.`, { cause })
    : new Unavailable('mpc_journal_failed', `Cannot write ${path}.`, { cause })
}
