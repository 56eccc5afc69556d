/**
 * One party's shares: a sealed file for each generation of a key. A prepared share survives a power cut, and shares are
 * only removed by name, once the log names a later generation that every party holds.
 *
 * One process owns the directory: before each change it must show that it still does.
 */

import { timingSafeEqual } from 'node:crypto'
import { readdir, readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Conflict, Unavailable } from '../../core/errors.ts'
import { createInTurn } from '../../core/in-turn.ts'
import type { Kek } from '../kek.ts'
import { createFileOnce, isMissing, preparePrivateDirectory, syncDirectory } from '../private-files.ts'
import { finishReplacing } from '../replace-files.ts'
import { openShare, type ShareFacts, type StoredShare, sealShare } from './share-file.ts'
import { parseShareName, SHARES_FOLDER, shareName } from './share-names.ts'

const NAME = /^[a-z0-9_-]{1,64}$/
const TEMPORARY = /^\..+\.tmp$/

export type ShareStore = {
  /**
   * Stores a share beside the existing ones. Durable when it resolves; repeating it with the same bytes changes
   * nothing.
   *
   * @throws Conflict `mpc_generation_taken` when this generation was prepared with another share
   * @throws Unavailable `mpc_share_store_full` or `mpc_share_store_failed`: existing shares are untouched
   */
  readonly prepare: (keyId: string, generation: string, share: Uint8Array, facts: ShareFacts) => Promise<void>
  /**
   * @throws Unavailable `mpc_share_missing`, or why it cannot be opened: `keystore_key_wrong`, `sealed_secret_damaged`
   */
  readonly load: (keyId: string, generation: string) => Promise<StoredShare>
  /**
   * The log names this generation, and all parties hold it: earlier ones are removed. Later ones stay, since a running
   * refresh has prepared them and they may be named soon.
   *
   * @throws Unavailable `mpc_share_missing` when this generation is not here: nothing is removed then
   */
  readonly settle: (keyId: string, generation: string) => Promise<void>
  /** Removes a generation that the log will never name. A missing one is not an error. */
  readonly drop: (keyId: string, generation: string) => Promise<void>
  /** The generations of a key, in order of preparation. */
  readonly generationsOf: (keyId: string) => readonly string[]
  /** Every key with its generations, in order of preparation. */
  readonly list: () => readonly { readonly keyId: string; readonly generations: readonly string[] }[]
}

/** The ordinals of a key's generations, by name. */
type Generations = Map<string, number>

/**
 * Opens the store of a party, creating its directory if necessary.
 *
 * @param directory the party's own; shares are in its folder `shares`
 * @param party its number, bound to every share
 * @param requireOwner refuses when another process has the directory. Runs before each file that is written or removed,
 *   and its error is thrown
 */
export async function openShareStore({
  directory,
  party,
  kek,
  requireOwner = async () => undefined,
}: {
  readonly directory: string
  readonly party: number
  readonly kek: Kek
  readonly requireOwner?: () => Promise<void>
}): Promise<ShareStore> {
  const folder = join(directory, SHARES_FOLDER)
  await preparePrivateDirectory(folder)
  await finishReplacing(directory)
  const keys = await readFolder(folder)
  const inTurn = createInTurn()
  const idOf = (keyId: string, generation: string) => ({ keyId, party, generation })
  const ordinalOf = (keyId: string, generation: string) => keys.get(keyId)?.get(generation)
  const pathOf = (keyId: string, generation: string, ordinal: number) =>
    join(folder, shareName({ keyId, ordinal, generation }))

  async function load(keyId: string, generation: string): Promise<StoredShare> {
    checkNames(keyId, generation)
    const ordinal = ordinalOf(keyId, generation)
    if (ordinal === undefined) throw missing(keyId, party, generation)
    const file = await readFile(pathOf(keyId, generation, ordinal)).catch((error: unknown) => {
      throw isMissing(error) ? missing(keyId, party, generation) : notDone('read', keyId, error)
    })
    return openShare(kek, idOf(keyId, generation), file)
  }

  /**
   * Removes files from the directory, not from the medium: on an SSD and most file systems an overwrite goes to other
   * blocks. The refresh makes old shares worthless, and their blocks are encrypted anyway.
   */
  async function remove(keyId: string, generations: readonly string[]): Promise<void> {
    await requireOwner()
    try {
      for (const generation of generations) {
        const ordinal = ordinalOf(keyId, generation)
        if (ordinal === undefined) continue
        await unlink(pathOf(keyId, generation, ordinal)).catch((error: unknown) => {
          if (!isMissing(error)) throw error
        })
        keys.get(keyId)?.delete(generation)
      }
      await syncDirectory(folder)
    } catch (error) {
      throw notDone('removed', keyId, error)
    }
    if (keys.get(keyId)?.size === 0) keys.delete(keyId)
  }

  return {
    prepare: (keyId, generation, share, facts) =>
      inTurn(keyId, async () => {
        checkNames(keyId, generation)
        if (ordinalOf(keyId, generation) !== undefined)
          return requireSame(await load(keyId, generation), share, generation)
        const generations = keys.get(keyId) ?? new Map<string, number>()
        const ordinal = 1 + Math.max(0, ...generations.values())
        const file = sealShare(kek, idOf(keyId, generation), { share, facts })
        await requireOwner()
        await createFileOnce(pathOf(keyId, generation, ordinal), file).catch((error: unknown) => {
          throw notDone('written', keyId, error)
        })
        keys.set(keyId, generations.set(generation, ordinal))
      }),

    load,

    settle: (keyId, generation) =>
      inTurn(keyId, async () => {
        checkNames(keyId, generation)
        const settled = ordinalOf(keyId, generation)
        if (settled === undefined) throw missing(keyId, party, generation)
        const older = [...(keys.get(keyId) ?? [])].filter(([, ordinal]) => ordinal < settled)
        if (older.length > 0)
          await remove(
            keyId,
            older.map(([name]) => name),
          )
      }),

    drop: (keyId, generation) =>
      inTurn(keyId, async () => {
        checkNames(keyId, generation)
        if (ordinalOf(keyId, generation) !== undefined) await remove(keyId, [generation])
      }),

    generationsOf: (keyId) => inOrder(keys.get(keyId) ?? new Map()),

    list: () => [...keys].map(([keyId, generations]) => ({ keyId, generations: inOrder(generations) })),
  }
}

/** The contents of the folder. Files left incomplete by a crash are removed: their write never resolved. */
async function readFolder(folder: string): Promise<Map<string, Generations>> {
  const keys = new Map<string, Generations>()
  for (const name of await readdir(folder)) {
    if (TEMPORARY.test(name)) await unlink(join(folder, name))
    const parsed = parseShareName(name)
    if (parsed === undefined) continue
    const { keyId, ordinal, generation } = parsed
    keys.set(keyId, (keys.get(keyId) ?? new Map<string, number>()).set(generation, ordinal))
  }
  return keys
}

function inOrder(generations: Generations): readonly string[] {
  return [...generations].sort(([, a], [, b]) => a - b).map(([name]) => name)
}

/** Names come from messages of others: one with a slash or a dot must not reach the file system. */
function checkNames(keyId: string, generation: string): void {
  if (!NAME.test(keyId) || !NAME.test(generation)) throw new RangeError('not a valid name of a share file')
}

function requireSame(stored: StoredShare, share: Uint8Array, generation: string): void {
  const isSame = stored.share.length === share.length && timingSafeEqual(stored.share, share)
  stored.share.fill(0)
  if (isSame) return
  throw new Conflict(
    'mpc_generation_taken',
    `Another share was already prepared as generation ${generation}: each ceremony needs its own name.`,
  )
}

function missing(keyId: string, party: number, generation: string): Unavailable {
  return new Unavailable(
    'mpc_share_missing',
    `Party ${party} has no share of generation ${generation} of key ${keyId}: restore its directory from a backup, or recover the ` +
      'share from the other parties.',
  )
}

function notDone(what: string, keyId: string, cause: unknown): Unavailable {
  const { code } = cause as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new Unavailable(
      'mpc_share_store_full',
      `The share of key ${keyId} could not be ${what}: the disk is full.`,
      { cause },
    )
  }
  return new Unavailable(
    'mpc_share_store_failed',
    `The share of key ${keyId} could not be ${what}: ${code ?? 'unknown cause'}.`,
    { cause },
  )
}
