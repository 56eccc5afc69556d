/**
 * Writes an identity to a new file, readable by its owner only. Identities are often stored on memory cards, whose file
 * systems have no hard links, so the file is created exclusively.
 */
import { open, unlink } from 'node:fs/promises'
import { KitRefused } from '../kit/kit-refused.ts'

/** @throws KitRefused when the file exists; system errors when it cannot be written, and then no file is left */
export async function writeIdentity(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST')
      throw new KitRefused(`${path} already exists: this command never overwrites an identity.`)
    throw error
  })
  try {
    await file.writeFile(text)
    await file.sync()
  } catch (error) {
    await unlink(path)
    throw error
  } finally {
    await file.close()
  }
}
