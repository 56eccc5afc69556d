/**
 * Whom this party signs with no more: one that failed a consistency check, for the key and the epoch in which it did. Kept as
 * empty files, so that neither a restart nor a coordinator that stays silent makes it forget (DKLs23, section 3.2).
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createFileOnce, preparePrivateDirectory } from '../private-files.ts'
import type { JointKey } from './ceremonies.ts'

export type PartyBans = {
  /** Durable when it resolves. */
  readonly add: (key: Pick<JointKey, 'keyId' | 'epoch'>, party: number) => Promise<void>
  /** Whom the log bans, and whom this party does. */
  readonly of: (key: Pick<JointKey, 'keyId' | 'epoch' | 'banned'>) => readonly number[]
}

export async function openPartyBans(directory: string): Promise<PartyBans> {
  await preparePrivateDirectory(directory)
  const known = new Set((await readdir(directory)).filter((name) => name.endsWith('.ban')))
  const fileOf = ({ keyId, epoch }: Pick<JointKey, 'keyId' | 'epoch'>, party: number) =>
    `${keyId}.${epoch}.${party}.ban`
  return {
    async add(key, party) {
      const name = fileOf(key, party)
      known.add(name)
      await createFileOnce(join(directory, name), '')
    },
    of: (key) => {
      const prefix = `${key.keyId}.${key.epoch}.`
      const own = [...known].flatMap((name) => (name.startsWith(prefix) ? [Number(name.split('.')[2])] : []))
      return [...new Set([...key.banned, ...own])]
    },
  }
}
