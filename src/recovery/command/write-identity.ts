/**
 * Writes an identity to a file that was not there, readable by its owner alone. Identities go to sticks and cards, whose file
 * systems have no hard links, so the name is taken by creating it.
 */
import { open, unlink } from 'node:fs/promises'
import { KitRefused } from '../kit/kit-refused.ts'

/** @throws KitRefused when something is there; what the system throws when it cannot be written, and then nothing is left */
export async function writeIdentity(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') throw new KitRefused(`${path} is there already: an identity is never written over.`)
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
