/**
 * Reads the shares of a party beside its running process: it writes, creates and removes nothing. It reads the
 * generation that the log named at that time; a concurrent refresh may have removed it.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Kek } from '../kek.ts'
import { isMissing } from '../private-files.ts'
import { openShare } from './share-file.ts'
import { parseShareName, SHARES_FOLDER } from './share-names.ts'

/**
 * The share of a generation of a key; `undefined` when the party has none. @throws Unavailable when it cannot be opened
 */
export async function readShare(
  { directory, party, kek }: { readonly directory: string; readonly party: number; readonly kek: Kek },
  keyId: string,
  generation: string,
): Promise<Uint8Array | undefined> {
  const folder = join(directory, SHARES_FOLDER)
  const names = await unlessMissing(readdir(folder))
  const name = names?.find((one) => {
    const parsed = parseShareName(one)
    return parsed?.keyId === keyId && parsed.generation === generation
  })
  const file = name === undefined ? undefined : await unlessMissing(readFile(join(folder, name)))
  return file === undefined ? undefined : openShare(kek, { keyId, party, generation }, file).share
}

async function unlessMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}
