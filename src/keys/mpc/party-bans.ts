/**
 * Parties that this party no longer signs with: those that failed a consistency check, for the shares involved. Kept as
 * empty files, so that a restart or a silent coordinator does not undo them (DKLs23, section 3.2).
 *
 * Invariant: a ban applies to every session of this process as soon as it is added. Nothing that follows from it may
 * leave the process before it is on disk; otherwise a crash would give the banned party another guess.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createFileOnce, preparePrivateDirectory } from '../private-files.ts'
import type { JointKey } from './ceremonies.ts'
import { generationOf } from './loaded-shares.ts'

/** The ban could not be written to disk. The caller must send nothing; the next session tries to write it again. */
export class BanNotKept extends Error {
  override readonly name = 'BanNotKept'
}

/**
 * A key and a generation of its shares: what a cheating party learns about one generation is worthless for the next.
 */
export type BanScope = Pick<JointKey, 'keyId' | 'epoch' | 'refreshId'>

export type PartyBans = {
  /** In force immediately; durable when it resolves. @throws BanNotKept: it is in force nevertheless */
  readonly add: (key: BanScope, party: number) => Promise<void>
  /** The parties banned by the log or by this party. */
  readonly of: (key: BanScope & Pick<JointKey, 'banned'>) => readonly number[]
  /**
   * Resolves when the bans of a key are durable; retries writes that failed.
   *
   * @returns undefined when all of them are durable
   */
  readonly unkept: (key: BanScope) => Promise<void> | undefined
}

const FAILED = Symbol('a failed write')

export async function openPartyBans(directory: string): Promise<PartyBans> {
  await preparePrivateDirectory(directory)
  const known = new Set((await readdir(directory)).filter((name) => name.endsWith('.ban')))
  /** Bans not on disk yet, each with its running write; `FAILED` after a failure. */
  const unwritten = new Map<string, Promise<void> | typeof FAILED>()

  async function write(name: string): Promise<void> {
    const underWay = unwritten.get(name)
    if (underWay !== undefined && underWay !== FAILED) return underWay
    const writing = createFileOnce(join(directory, name), '').then(
      () => void unwritten.delete(name),
      (cause: unknown) => {
        unwritten.set(name, FAILED)
        throw new BanNotKept('Cannot write the ban of a party to the disk.', { cause })
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
