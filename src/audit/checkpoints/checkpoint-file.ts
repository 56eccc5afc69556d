/**
 * The checkpoints in a file outside the database: one note behind the other, an empty line after each. It only grows; what was
 * appended is on the disk before the call returns.
 */
import { open, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isMissing, preparePrivateDirectory, syncDirectory } from '../../keys/private-files.ts'

const SEPARATOR = '\n\n'
const WORLD_READABLE = 0o644

export type CheckpointFile = {
  /** The notes, oldest first; none when there is no file. An unfinished note at the end, which a crash left, is not among them. */
  readonly notes: () => Promise<readonly string[]>
  readonly append: (note: string) => Promise<void>
}

export function createCheckpointFile(path: string): CheckpointFile {
  async function read(): Promise<string> {
    return readFile(path, 'utf8').catch((error: unknown) => {
      if (isMissing(error)) return ''
      throw error
    })
  }
  return {
    notes: async () => notesIn(await read()),
    async append(note) {
      const whole = wholeNotes(await read())
      if (whole === '') await preparePrivateDirectory(dirname(path))
      const file = await open(path, 'a', WORLD_READABLE)
      try {
        // What a crash left unfinished was never given to anybody.
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

/** The notes of a file's text. */
export function notesIn(text: string): string[] {
  const parts = wholeNotes(text).split(SEPARATOR).slice(0, -1)
  return Array.from(
    { length: parts.length / 2 },
    (_, index) => `${parts[2 * index]}${SEPARATOR}${parts[2 * index + 1]}\n`,
  )
}

/** The text up to the end of the last note that was written to its end. */
function wholeNotes(text: string): string {
  const parts = text.split(SEPARATOR).slice(0, -1)
  const whole = parts.slice(0, parts.length - (parts.length % 2))
  return whole.map((part) => `${part}${SEPARATOR}`).join('')
}
