/** The share files of a party, each sealed under another key, for rotating the party's key. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Kek } from '../kek.ts'
import { isMissing } from '../private-files.ts'
import type { NewVersion } from '../replace-files.ts'
import { resealShare } from './share-file.ts'
import { parseShareName, SHARES_FOLDER } from './share-names.ts'

/**
 * Shares already sealed under the new key are skipped.
 *
 * @param directory the party's own
 * @throws Unavailable `keystore_key_wrong` or `sealed_secret_damaged` for a share that `from` does not open
 */
export async function* resealedShares({
  directory,
  party,
  from,
  to,
}: {
  readonly directory: string
  readonly party: number
  readonly from: Kek
  readonly to: Kek
}): AsyncGenerator<NewVersion> {
  const folder = join(directory, SHARES_FOLDER)
  const names = await readdir(folder).catch((error: unknown) => {
    if (isMissing(error)) return []
    throw error
  })
  for (const name of names.sort()) {
    const parsed = parseShareName(name)
    if (parsed === undefined) continue
    const { keyId, generation } = parsed
    const next = resealShare(from, to, { keyId, party, generation }, await readFile(join(folder, name)))
    if (next !== null) yield { name: `${SHARES_FOLDER}/${name}`, contents: next }
  }
}
