/** The keystore and its key, according to the settings: for signers, and for operator commands. */
import { openDirectoryKeystore } from '../keys/directory-keystore.ts'
import { type Kek, parseKek } from '../keys/kek.ts'
import { openKekFile } from '../keys/kek-file.ts'
import type { Keystore } from '../keys/keystore.ts'
import { createPostgresKeystore } from '../keys/postgres-keystore.ts'
import { requireUsableDirectory } from '../keys/usable-directory.ts'
import type { Kernel } from './kernel.ts'

/** The setting of the directory, as messages name it. */
export const KEYSTORE_DIR = 'KEYSTORE_DIR (by default in DATA_DIR)'

export type OpenedKeystore = { readonly keystore: Keystore; readonly kek: Kek }

/** @throws Unavailable when the key of a directory is missing or damaged; InvalidSetting when the directory cannot be used */
export async function openKeystore({ config, pool }: Pick<Kernel, 'config' | 'pool'>): Promise<OpenedKeystore> {
  const { kind, directory, key } = config.keystore
  if (kind === 'directory') await requireUsableDirectory(directory, KEYSTORE_DIR, { writes: false })
  const kek = key === null ? await openKekFile(directory) : parseKek(key)
  const keystore = kind === 'postgres' ? createPostgresKeystore(pool) : await openDirectoryKeystore(directory)
  return { keystore, kek }
}
