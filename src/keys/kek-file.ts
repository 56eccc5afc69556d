/**
 * The key-encryption key of a keystore without a configured one: a file beside the sealed files, created on first
 * start. It protects a copy of single sealed files, but not against a reader of the directory: in production set
 * KEYSTORE_KEY.
 */
import { chmod, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Unavailable } from '../core/errors.ts'
import { decodeKek, type Kek, makeKekText } from './kek.ts'
import { createFileOnce, isMissing, preparePrivateDirectory, SEALED_FILE_SUFFIX } from './private-files.ts'
import { finishReplacing } from './replace-files.ts'

/** Its file name in the keystore directory. */
export const KEK_FILE = 'kek'

/**
 * Reads the key file of a keystore directory. Processes that start concurrently for the first time get the same key.
 *
 * @throws Unavailable `keystore_key_missing` when there are sealed secrets but no key, since a new key could not open
 *   them; `keystore_key_damaged` when the file is malformed
 */
export async function openKekFile(directory: string): Promise<Kek> {
  await preparePrivateDirectory(directory)
  await finishReplacing(directory)
  const path = join(directory, KEK_FILE)
  const found = await readKekFile(path)
  if (found) return found
  if (!(await hasSealedSecrets(directory))) await createFileOnce(path, `${makeKekText()}\n`)
  // Another process may have created the key and sealed with it since the first check: the key is always written first.
  const made = await readKekFile(path)
  if (made) return made
  throw new Unavailable(
    'keystore_key_missing',
    `${directory} has sealed keys but not the file "${KEK_FILE}" that opens them: restore that file, or set KEYSTORE_KEY.`,
  )
}

async function hasSealedSecrets(directory: string): Promise<boolean> {
  return (await readdir(directory)).some((name) => name.endsWith(SEALED_FILE_SUFFIX))
}

async function readKekFile(path: string): Promise<Kek | undefined> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })
  if (text === undefined) return undefined
  if (((await stat(path)).mode & 0o077) !== 0) await chmod(path, 0o600)
  const kek = decodeKek(text.trim())
  if (kek) return kek
  throw new Unavailable(
    'keystore_key_damaged',
    `${path} does not contain a key of 32 bytes in base64: restore it from a backup. A new key could not open the existing secrets.`,
  )
}
