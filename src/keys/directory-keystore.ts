/**
 * A keystore of one file per secret, `<tenant>.<purpose>.sealed.json`. Never overwrites a file except to rotate the
 * key.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { canonicalJson } from '../core/canonical-json.ts'
import { Unavailable } from '../core/errors.ts'
import { isTenantId } from '../core/tenants.ts'
import type { Kek } from './kek.ts'
import type { Keystore } from './keystore.ts'
import { createFileOnce, isMissing, preparePrivateDirectory, SEALED_FILE_SUFFIX } from './private-files.ts'
import { addFiles, finishReplacing, type NewVersion } from './replace-files.ts'
import { type Envelope, keyRotatedAway, parseEnvelope, rewrap, type SecretId, secretExists } from './sealed-box.ts'

/**
 * Opens the directory and creates it if it does not exist. Signers on several machines need shared storage that
 * supports hard links; otherwise use the PostgreSQL keystore.
 */
export async function openDirectoryKeystore(directory: string): Promise<Keystore> {
  await preparePrivateDirectory(directory)
  await finishReplacing(directory)
  const pathOf = (id: SecretId) => join(directory, fileName(id))

  async function read(id: SecretId): Promise<Envelope | undefined> {
    const path = pathOf(id)
    try {
      return parseEnvelope(parseJson(await readFile(path, 'utf8')), id)
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  async function readUndamaged(id: SecretId): Promise<Envelope | undefined> {
    try {
      return await read(id)
    } catch (error) {
      if (error instanceof Unavailable && error.code === 'sealed_secret_damaged') return undefined
      throw error
    }
  }

  async function list(): Promise<SecretId[]> {
    const names = (await readdir(directory)).filter((name) => name.endsWith(SEALED_FILE_SUFFIX)).sort()
    return names.map((name) => {
      const [tenantId = '', purpose = ''] = name.slice(0, -SEALED_FILE_SUFFIX.length).split('.')
      return { tenantId, purpose }
    })
  }

  /** A rotation seals all secrets again or none, so checking one other secret is enough. */
  async function requireSameKek(id: SecretId, envelope: Envelope): Promise<void> {
    for (const other of await list()) {
      const sealed = fileName(other) === fileName(id) ? undefined : await readUndamaged(other)
      if (sealed?.kek === envelope.kek) return
      if (sealed !== undefined) throw keyRotatedAway(id, envelope.kek)
    }
  }

  return {
    read,
    list,

    async createOnce(id, envelope) {
      await requireSameKek(id, envelope)
      await createFileOnce(pathOf(id), canonicalJson(envelope))
      const stored = await read(id)
      if (stored === undefined) throw new Error(`${pathOf(id)} disappeared while it was created`)
      return stored
    },

    async createAll(secrets) {
      for (const { id, envelope } of secrets) {
        await requireSameKek(id, envelope)
        if ((await read(id)) !== undefined) throw secretExists(id)
      }
      await addFiles(
        directory,
        secrets.map(({ id, envelope }) => ({ name: fileName(id), contents: canonicalJson(envelope) })),
      )
    },

    async kekIds() {
      const ids = new Set<string>()
      for (const id of await list()) {
        const envelope = await readUndamaged(id)
        if (envelope) ids.add(envelope.kek)
      }
      return [...ids]
    },
  }
}

/**
 * The sealed files of a directory, each sealed under the new key. Files already sealed under it are skipped.
 *
 * @throws Unavailable `keystore_key_wrong` or `sealed_secret_damaged` for a file that `from` does not open
 */
export async function* resealedFiles(directory: string, from: Kek, to: Kek): AsyncGenerator<NewVersion> {
  const keystore = await openDirectoryKeystore(directory)
  for (const id of await keystore.list()) {
    const envelope = await keystore.read(id)
    if (envelope === undefined || envelope.kek === to.id) continue
    yield { name: fileName(id), contents: canonicalJson(rewrap(from, to, id, envelope)) }
  }
}

/** Names come from outside: one with a slash or a dot must not reach the file system. */
function fileName({ tenantId, purpose }: SecretId): string {
  if (!isTenantId(tenantId) || !/^[a-z][a-z-]*$/.test(purpose))
    throw new RangeError('not a valid name of a keystore file')
  return `${tenantId}.${purpose}${SEALED_FILE_SUFFIX}`
}

/** Text that is not JSON is not an envelope; `parseEnvelope` reports the owner. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
