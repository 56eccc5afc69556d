/**
 * Seals the contents of a directory under another key-encryption key: a keystore, or the directory of a party with its
 * shares.
 *
 * Invariant: after a crash at any moment the whole directory opens with the old key, or the whole directory with the
 * new one.
 */
import { Conflict } from '../core/errors.ts'
import { openDirectoryKeystore, resealedFiles } from './directory-keystore.ts'
import type { Kek } from './kek.ts'
import { KEK_FILE } from './kek-file.ts'
import { resealedShares } from './mpc/resealed-shares.ts'
import { type NewVersion, replaceFiles } from './replace-files.ts'

export type DirectoryRotation = {
  readonly directory: string
  readonly from: Kek
  readonly to: Kek
  /** The new key as text when the key is stored in the directory; `null` when it comes from outside. */
  readonly kekText: string | null
  /** The party that owns the directory; `null` for a keystore. */
  readonly party: number | null
  /** Runs last before the new key is in force; if it throws, nothing changes. */
  readonly beforeCommit: () => Promise<void>
  /** Called with the number of secrets sealed so far. */
  readonly onProgress: (secrets: number) => void
}

/**
 * The caller ensures that nothing else writes to the directory and that one process at a time does this.
 *
 * @returns the number of secrets sealed again; those already under the new key are not counted
 * @throws Unavailable `keystore_key_wrong` or `sealed_secret_damaged` for a secret that `from` does not open; Conflict
 *   `keystore_changed` when a secret was added meanwhile. Nothing is changed then
 */
export async function rotateDirectory(rotation: DirectoryRotation): Promise<number> {
  const { directory, from, to, kekText, party, beforeCommit, onProgress } = rotation
  const keystore = await openDirectoryKeystore(directory)
  const namesNow = async () => JSON.stringify(await keystore.list())
  const before = await namesNow()
  let secrets = 0

  async function* versions(): AsyncGenerator<NewVersion> {
    const sources = [resealedFiles(directory, from, to)]
    if (party !== null) sources.push(resealedShares({ directory, party, from, to }))
    for (const source of sources) {
      for await (const version of source) {
        secrets += 1
        onProgress(secrets)
        yield version
      }
    }
    if (kekText !== null) yield { name: KEK_FILE, contents: `${kekText}\n` }
  }

  await replaceFiles(directory, versions(), async () => {
    await beforeCommit()
    if ((await namesNow()) === before) return
    throw new Conflict(
      'keystore_changed',
      `A secret was added to ${directory} during the rotation: stop the process that writes to it.`,
    )
  })
  return secrets
}
