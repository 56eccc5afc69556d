/** The key of tags of the sandbox, which its first start creates. Signers and mpc parties get it. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createFileOnce } from '../keys/private-files.ts'

/** @returns the setting, unless the user has set it */
export async function planTagKey(dataDir: string, env: NodeJS.ProcessEnv): Promise<Readonly<Record<string, string>>> {
  if (env.TRANSACTION_TAG_KEY || env.TRANSACTION_TAG_KEY_FILE) return {}
  const file = join(dataDir, 'transaction-tag.key')
  await createFileOnce(file, `${randomBytes(32).toString('base64')}\n`)
  return { TRANSACTION_TAG_KEY_FILE: file }
}
