/**
 * The checkpoints in a file outside the database: one note after the other, each followed by an empty line. The file is
 * append-only; an append is on disk before the call returns.
 */
import { open, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { InvalidSetting } from '../../core/errors.ts'
import { isMissing, preparePrivateDirectory, syncDirectory } from '../../keys/private-files.ts'

const SEPARATOR = '\n\n'
const WORLD_READABLE = 0o644

export type CheckpointFile = {
  /**
   * The notes, oldest first; none when there is no file. An incomplete last note after a crash is left out.
   *
   * @throws InvalidSetting when the file cannot be read
   */
  readonly notes: () => Promise<readonly string[]>
  readonly append: (note: string) => Promise<void>
}

export function createCheckpointFile(path: string): CheckpointFile {
  async function read(): Promise<string> {
    return readFile(path, 'utf8').catch((error: unknown) => {
      if (isMissing(error)) return ''
      const { code = 'unknown error' } = error as NodeJS.ErrnoException
      throw new InvalidSetting('AUDIT_CHECKPOINT_FILE', `must be a file that can be read, not ${path}: ${code}.`)
    })
  }
  return {
    notes: async () => notesIn(await read()),
    async append(note) {
      const whole = wholeNotes(await read())
      if (whole === '') await preparePrivateDirectory(dirname(path))
      const file = await open(path, 'a', WORLD_READABLE)
      try {
        // An incomplete note was never given to anybody.
        await file.truncate(Buffer.byteLength(whole, 'utf8'))
        await file.writeFile(`${note}\n`)
        await file.sync()
      } finally {
        await file.close()
      }
      if (whole === '') await syncDirectory(dirname(path))
    },
  }
}

/** The notes in a file's text. */
export function notesIn(text: string): string[] {
  const parts = wholeNotes(text).split(SEPARATOR).slice(0, -1)
  return Array.from(
    { length: parts.length / 2 },
    (_, index) => `${parts[2 * index]}${SEPARATOR}${parts[2 * index + 1]}\n`,
  )
}

/**
 * Bytes after the last whole note. A crash, or a copy that was made while the file was written, leaves less than one
 * note.
 */
export function bytesAfterNotes(text: string): number {
  return Buffer.byteLength(text, 'utf8') - Buffer.byteLength(wholeNotes(text), 'utf8')
}

/** The text up to the end of the last complete note. */
function wholeNotes(text: string): string {
  const parts = text.split(SEPARATOR).slice(0, -1)
  const whole = parts.slice(0, parts.length - (parts.length % 2))
  return whole.map((part) => `${part}${SEPARATOR}`).join('')
}
