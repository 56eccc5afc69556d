/** `keystore rotate-key` and `mpc rotate-key`: seal everything under another key-encryption key, all or nothing. */
import { readFile } from 'node:fs/promises'
import type { Pool } from 'pg'
import { BadInput, type CliCommand, type CliIo, type ExitCode, type Within } from '../cli/command.ts'
import { decodeKek, type Kek, makeKekText } from '../keys/kek.ts'
import { isMissing } from '../keys/private-files.ts'
import { finishReplacing } from '../keys/replace-files.ts'
import { directoryExists } from '../keys/usable-directory.ts'
import { rotateAlone } from './require-stopped.ts'

/** Secrets sealed under one key-encryption key, and the processes that use it. */
export type SealedPlace = {
  readonly pool: Pool
  /** The processes that hold the key, by their heartbeat name. */
  readonly processes: string
  /** Whether the key is in a file beside what it seals; otherwise it is in the setting. */
  readonly keyLiesInFile: boolean
  /** Completes a rotation that was killed after its commit. Returns whether there was one. */
  readonly finish: () => Promise<boolean>
  /** The key from the settings or the file. */
  readonly currentKey: () => Promise<Kek>
  /** @returns the number of secrets sealed again */
  readonly rotate: (rotation: {
    readonly from: Kek
    readonly to: Kek
    readonly kekText: string | null
    readonly beforeCommit: () => Promise<void>
    readonly onProgress: (secrets: number) => void
  }) => Promise<number>
}

export type RotateKeyTexts = {
  readonly name: string
  readonly summary: string
  /** What is sealed, and which processes must be stopped. */
  readonly details: string
  /** The setting that holds the key. */
  readonly setting: string
}

const HOW =
  'Re-encrypts all secrets or none. If it is killed, all secrets are still encrypted with one key, the old one or the new one: run it\n' +
  'again. It refuses to start while a process that uses the old key is running. Keep the old key until all these processes have\n' +
  'started with the new key.'

export function rotateKeyCommand(texts: RotateKeyTexts, within: Within<SealedPlace>): CliCommand {
  const { name, summary, details, setting } = texts
  return {
    name,
    summary,
    details: `${details}\n${HOW}`,
    options: [
      {
        flags: '--new-key <file>',
        description: `file with the new key, 32 bytes in base64; required if ${setting} is set, otherwise a key is created`,
      },
    ],
    run: ({ options }, io) =>
      within<ExitCode>((place) =>
        rotateAlone(place.pool, place.processes, async (requireStopped) => {
          const finished = await place.finish()
          // When the keys are in settings, the following lines report which key everything is sealed under now.
          if (finished && place.keyLiesInFile) {
            return tell(io, texts, place, { secrets: 0, key: await place.currentKey(), completed: true })
          }
          const kekText = await newKeyText(options.newKey, place, setting)
          const to = decodeKek(kekText)
          if (to === undefined) throw new BadInput(`--new-key must name a file that contains 32 bytes in base64.`)
          const from = await place.currentKey()
          if (from.id === to.id) throw new BadInput('--new-key is the key that is already in use: create a new key.')
          const progress = io.progress({ unit: 'secrets', total: null })
          const secrets = await place
            .rotate({
              from,
              to,
              kekText: place.keyLiesInFile ? kekText : null,
              beforeCommit: requireStopped,
              onProgress: progress.at,
            })
            .finally(progress.end)
          return tell(io, texts, place, { secrets, key: to, completed: false })
        }),
      ),
  }
}

async function newKeyText(option: unknown, { keyLiesInFile }: SealedPlace, setting: string): Promise<string> {
  if (typeof option === 'string') {
    const text = await readFile(option, 'utf8').catch((error: unknown) => {
      if (isMissing(error)) throw new BadInput(`--new-key: the file ${option} does not exist.`)
      throw error
    })
    return text.trim()
  }
  if (keyLiesInFile) return makeKekText()
  throw new BadInput(
    `--new-key must name a file with the new key, because ${setting} contains the old key: openssl rand -base64 32 > new.key`,
  )
}

type Outcome = { readonly secrets: number; readonly key: Kek; readonly completed: boolean }

function tell(
  io: CliIo,
  { setting }: RotateKeyTexts,
  { processes, keyLiesInFile }: SealedPlace,
  { secrets, key, completed }: Outcome,
): ExitCode {
  const what = completed
    ? 'An interrupted rotation is now complete.'
    : secrets === 0
      ? `All secrets are already encrypted with key ${key.id}.`
      : `Encrypted ${secrets} ${secrets === 1 ? 'secret' : 'secrets'} with key ${key.id}.`
  const next = keyLiesInFile
    ? `The new key is in the file kek: start every ${processes} again.`
    : `Set ${setting} to the new key, then start every ${processes} again.`
  io.print({ secrets, key_id: key.id, completed_earlier: completed }, `${what} ${next}\n`)
  return 0
}

/**
 * Completes a rotation in a directory that was killed after its commit. Returns whether there was one.
 *
 * @throws BadInput for a missing directory: it must not be created and reported as sealed under the new key
 */
export async function finishIn(directory: string, setting: string): Promise<boolean> {
  if (!(await directoryExists(directory, setting)))
    throw new BadInput(
      `The directory ${directory} does not exist: run this with the settings of the process whose key is rotated.`,
    )
  return finishReplacing(directory)
}
