/** A keystore of one file per secret, `<tenant>.<purpose>.sealed.json`. Never overwrites one but to rotate its key. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { canonicalJson } from '../core/canonical-json.ts'
import { Unavailable } from '../core/errors.ts'
import { isTenantId } from '../core/tenants.ts'
import type { Keystore } from './keystore.ts'
import { createFileOnce, isMissing, preparePrivateDirectory, replaceFile, SEALED_FILE_SUFFIX } from './private-files.ts'
import { type Envelope, parseEnvelope, type SecretId } from './sealed-box.ts'

/**
 * Opens the directory, making it when it is not there. Signers on several machines need it on storage that they share and
 * that has hard links; where there is none, use the PostgreSQL keystore.
 *
 * Two rotations at the same time may both replace a file: each version holds the same secret, so nothing is lost, but run
 * one at a time.
 */
export async function openDirectoryKeystore(directory: string): Promise<Keystore> {
  await preparePrivateDirectory(directory)
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

  return {
    read,
    list,

    async createOnce(id, envelope) {
      await createFileOnce(pathOf(id), canonicalJson(envelope))
      const stored = await read(id)
      if (stored === undefined) throw new Error(`${pathOf(id)} vanished while it was made`)
      return stored
    },

    async replace(id, current, next) {
      const stored = await read(id)
      if (stored === undefined || canonicalJson(stored) !== canonicalJson(current)) return false
      await replaceFile(pathOf(id), canonicalJson(next))
      return true
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

/** Names come from outside: one with a slash or a dot must not reach the file system. */
function fileName({ tenantId, purpose }: SecretId): string {
  if (!isTenantId(tenantId) || !/^[a-z][a-z-]*$/.test(purpose))
    throw new RangeError('not a name that a keystore file can have')
  return `${tenantId}.${purpose}${SEALED_FILE_SUFFIX}`
}

/** What is no JSON is no envelope: `parseEnvelope` says whose it is. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
