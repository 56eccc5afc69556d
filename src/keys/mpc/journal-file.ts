/**
 * An append-only file of records, one line each. Each line is durable before `append` resolves and is hash-chained to
 * the one before. A last line that a power cut truncated is dropped on opening, since its append never resolved; damage
 * elsewhere is refused, also when it comes while the file is open: before and after each write the file must be as this
 * process left it. Nothing that another process wrote is ever removed.
 */
import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, open, readFile, rename, stat, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Unavailable } from '../../core/errors.ts'
import { createFileOnce, isMissing, syncDirectory } from '../private-files.ts'

const HASH_LENGTH = 16
const LINE = /^([0-9a-f]{16}) (.*)$/s
/** The hash that the first line is chained to; names the format and its version. */
const GENESIS = 'bursar mpc journal 1'
const OWNER_ONLY = 0o600

export type JournalFile = {
  /**
   * Appends a line. A failed append does not count, even if part of it reached the disk.
   *
   * @throws Unavailable `mpc_journal_full` or `mpc_journal_failed`; `mpc_journal_damaged` as `check` does
   */
  readonly append: (record: unknown) => Promise<void>
  /** Replaces all lines with one. Throws as `append` does; the file is then unchanged, or accepts nothing more. */
  readonly rewrite: (record: unknown) => Promise<void>
  /** @throws Unavailable `mpc_journal_damaged`, from then on, when the file is not as this process left it */
  readonly check: () => Promise<void>
  /** The damage that was found since the file was opened; `null` for none. */
  readonly damage: () => Unavailable | null
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
  const { records, hash, length, lines } = parse(path, contents)
  const handle = await open(path, 'a')
  // What the file is like is learnt by the first check: it may have changed since it was read.
  const end = { handle, hash, length, lines, stamp: null }
  return { file: createWriter(path, end, contents.subarray(length)), records, torn: contents.length - length }
}

/** The end of the file that is known to be on disk. `stamp` changes with the file; `null` when it is not known. */
type End = {
  readonly handle: FileHandle
  readonly hash: string
  readonly length: number
  readonly lines: number
  readonly stamp: string | null
}

/** @param torn what may stand after the end: a truncated line */
function createWriter(path: string, opened: End, torn: Buffer): JournalFile {
  let end = opened
  /** What a failed write of this process may have left after the end. It is removed before the next line. */
  let tail = torn
  let damage: Unavailable | null = null

  function refuse(): never {
    damage ??= damaged(path, end.lines + 1)
    throw damage
  }

  async function check(): Promise<void> {
    if (damage !== null) throw damage
    const now = await stampOf(path)
    if (now === null || now.file !== (await fileOf(end.handle))) refuse()
    if (now.stamp === end.stamp) return
    const contents = await readFile(path)
    const known = contents.subarray(0, end.length)
    try {
      if (parse(path, known).hash !== end.hash || !mayLeave(tail, contents.subarray(end.length))) refuse()
    } catch (error) {
      damage ??= error as Unavailable
      throw damage
    }
    end = { ...end, stamp: now.stamp }
  }

  return {
    check,
    damage: () => damage,

    async append(record) {
      await check()
      const { handle, length, lines } = end
      const { bytes, hash } = lineOf(end.hash, record)
      try {
        if (tail.length > 0) await handle.truncate(length)
        tail = bytes
        end = { ...end, stamp: null }
        await handle.appendFile(bytes)
        await handle.datasync()
      } catch (error) {
        throw failed(path, error)
      }
      const after = await stampOf(path)
      // Another process wrote between the check and the line: which of the two is first is unknown.
      if (after?.size !== length + bytes.length) refuse()
      tail = NOTHING
      end = { handle, hash, length: after.size, lines: lines + 1, stamp: after.stamp }
    },

    async rewrite(record) {
      await check()
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
        await handle.close()
        if (!renamed) await unlink(temporary)
        // After the rename it is unknown which of the two files survives a power cut: no further write is accepted.
        else damage = failed(path, error)
        throw failed(path, error)
      }
      await end.handle.close()
      tail = NOTHING
      end = { handle, hash, length: bytes.length, lines: 1, stamp: null }
    },

    close: () => end.handle.close(),
  }
}

const NOTHING = Buffer.alloc(0)

/** Whether a failed write of `tail` can have left these bytes: a part of it, with holes that read as zeros. */
function mayLeave(tail: Buffer, found: Buffer): boolean {
  return found.length <= tail.length && found.every((byte, place) => byte === 0 || byte === tail[place])
}

/** The file that the name leads to; `null` for none. Every change of a file changes its `ctime`. */
async function stampOf(path: string) {
  const found = await stat(path, { bigint: true }).catch((error: unknown) => {
    if (isMissing(error)) return null
    throw failed(path, error)
  })
  if (found === null) return null
  const { dev, ino, size, ctimeNs } = found
  return { file: `${dev} ${ino}`, size: Number(size), stamp: `${dev} ${ino} ${size} ${ctimeNs}` }
}

async function fileOf(handle: FileHandle): Promise<string> {
  const { dev, ino } = await handle.stat({ bigint: true })
  return `${dev} ${ino}`
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
  return { records, hash, length: at, lines: records.length }
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
    `${path} is damaged from line ${line} on, or another process wrote to it. This party signs nothing: stop it and ` +
      'restore the file, because without it the party does not know what it has signed.',
  )
}

function failed(path: string, cause: unknown): Unavailable {
  const { code } = cause as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT'
    ? new Unavailable('mpc_journal_full', `Cannot write ${path}: the disk is full.`, { cause })
    : new Unavailable('mpc_journal_failed', `Cannot write ${path}.`, { cause })
}
