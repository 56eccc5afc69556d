/**
 * Whom this party signs with no more: one that failed a consistency check, for the shares with which it did. Kept as empty files,
 * so that neither a restart nor a coordinator that stays silent makes it forget (DKLs23, section 3.2).
 *
 * Invariant: a ban is in force in every session of this process from the call that adds it. Nothing that follows from it may
 * leave the process before it is on the disk, else a crash gives the banned party another guess.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createFileOnce, preparePrivateDirectory } from '../private-files.ts'
import type { JointKey } from './ceremonies.ts'
import { generationOf } from './loaded-shares.ts'

/** The disk did not take a ban. Who meets this says nothing to anybody: the next session tries to write it again. */
export class BanNotKept extends Error {
  override readonly name = 'BanNotKept'
}

/** A key and which of its shares: what a cheat learns of one generation is worth nothing for the next. */
export type BanScope = Pick<JointKey, 'keyId' | 'epoch' | 'refreshId'>

export type PartyBans = {
  /** In force at once; durable when it resolves. @throws BanNotKept: it is in force nevertheless */
  readonly add: (key: BanScope, party: number) => Promise<void>
  /** Whom the log bans, and whom this party does. */
  readonly of: (key: BanScope & Pick<JointKey, 'banned'>) => readonly number[]
  /**
   * Resolves when the bans of a key are durable, and tries again to write those that the disk did not take.
   *
   * @returns undefined when all of them are durable
   */
  readonly unkept: (key: BanScope) => Promise<void> | undefined
}

const FAILED = Symbol('a write that failed')

export async function openPartyBans(directory: string): Promise<PartyBans> {
  await preparePrivateDirectory(directory)
  const known = new Set((await readdir(directory)).filter((name) => name.endsWith('.ban')))
  /** Those that are not on the disk, each with the write that is under way; `FAILED` where it failed. */
  const unwritten = new Map<string, Promise<void> | typeof FAILED>()

  async function write(name: string): Promise<void> {
    const underWay = unwritten.get(name)
    if (underWay !== undefined && underWay !== FAILED) return underWay
    const writing = createFileOnce(join(directory, name), '').then(
      () => void unwritten.delete(name),
      (cause: unknown) => {
        unwritten.set(name, FAILED)
        throw new BanNotKept('The ban of a party could not be written to the disk.', { cause })
      },
    )
    unwritten.set(name, writing)
    return writing
  }

  return {
    async add(key, party) {
      const name = `${key.keyId}.${generationOf(key)}.${party}.ban`
      if (known.has(name) && !unwritten.has(name)) return
      known.add(name)
      await write(name)
    },

    of(key) {
      // Earlier versions named a ban by the epoch, which is a number, unlike a generation.
      const prefixes = [`${key.keyId}.${generationOf(key)}.`, `${key.keyId}.${key.epoch}.`]
      const own = [...known].flatMap((name) =>
        prefixes.some((prefix) => name.startsWith(prefix)) ? [Number(name.split('.')[2])] : [],
      )
      return [...new Set([...key.banned, ...own])]
    },

    unkept(key) {
      const prefix = `${key.keyId}.${generationOf(key)}.`
      const names = [...unwritten.keys()].filter((name) => name.startsWith(prefix))
      return names.length === 0 ? undefined : Promise.all(names.map(write)).then(() => undefined)
    },
  }
}
