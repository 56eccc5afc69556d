/**
 * Counts the consistency checks of other parties' messages made with a share. A check may leak information to the
 * sender whether it passes or fails, and passes a wrong message with probability 2^-80 (the statistical parameter of
 * DKLs23 and of the engine). So a share serves a bounded number of checks, and is refreshed long before.
 *
 * Invariant: the number on disk is never below the number of checks made: space for a block of checks is written before
 * the first of them. A crash overcounts by at most one block.
 */
import { readdir, readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Unavailable } from '../../core/errors.ts'
import { isMissing, preparePrivateDirectory, replaceFile } from '../private-files.ts'
import type { JointKey } from './ceremonies.ts'
import { generationOf } from './loaded-shares.ts'

export type CheckLimits = {
  /** From this count on a refresh is requested, once for each block; signing continues. */
  readonly refreshFrom: number
  /** No check beyond this count: at 2^20 the probability that any wrong message passed is 2^-60. */
  readonly most: number
}

export const CHECK_LIMITS: CheckLimits = { refreshFrom: 2 ** 19, most: 2 ** 20 }

/** Checks reserved by one write of a small file. */
const BLOCK = 256
const SUFFIX = '.checks'

export type CheckCounts = {
  /**
   * Counts checks before they are made.
   *
   * @returns `due` when a refresh should be requested, `worn` when nothing was counted and no check may be made; and a
   *   promise that resolves once the count is durable: await it before the checks. @throws Unavailable
   *   `mpc_count_failed` through that promise
   */
  readonly count: (
    key: Pick<JointKey, 'keyId' | 'refreshId'>,
    checks: number,
  ) => Promise<{ readonly state: 'fine' | 'due' | 'worn'; readonly kept: Promise<void> }>
}

type Count = { used: number; reserved: number; kept: Promise<void> }

/**
 * @param directory the party's directory for these files only
 * @param isHeld whether the party holds this generation of a key: counts of others are removed
 * @param requireOwner refuses when another process has the directory: it counts on from a later number, which must stay
 */
export async function openCheckCounts(
  directory: string,
  isHeld: (keyId: string, generation: string) => boolean,
  limits: CheckLimits = CHECK_LIMITS,
  requireOwner: () => Promise<void> = async () => undefined,
): Promise<CheckCounts> {
  await preparePrivateDirectory(directory)
  for (const name of await readdir(directory)) {
    const [keyId = '', generation = ''] = name.slice(0, -SUFFIX.length).split('.')
    if (!name.endsWith(SUFFIX) || !isHeld(keyId, generation)) await unlink(join(directory, name))
  }
  const counts = new Map<string, Promise<Count>>()

  async function read(name: string): Promise<Count> {
    const text = await readFile(join(directory, name), 'utf8').catch((error: unknown) => {
      if (isMissing(error)) return '0'
      throw notCounted(error)
    })
    const used = Number.parseInt(text, 10)
    // An unreadable file counts as the maximum: new shares begin a new file.
    const safe = Number.isSafeInteger(used) && used >= 0 ? used : limits.most
    return { used: safe, reserved: safe, kept: Promise.resolve() }
  }

  async function countOf(name: string): Promise<Count> {
    const known = counts.get(name) ?? read(name)
    counts.set(name, known)
    known.catch(() => counts.delete(name))
    return known
  }

  function reserve(name: string, count: Count): void {
    const upTo = Math.min(Math.ceil(count.used / BLOCK) * BLOCK, limits.most)
    count.reserved = upTo
    count.kept = count.kept
      .catch(() => undefined)
      .then(requireOwner)
      .then(() => replaceFile(join(directory, name), `${upTo}\n`))
      .catch((error: unknown) => {
        count.reserved = 0 // The next count writes again.
        throw notCounted(error)
      })
    count.kept.catch(() => undefined) // Rejections go to those who await it, if any.
  }

  return {
    async count(key, checks) {
      const name = `${key.keyId}.${generationOf(key)}${SUFFIX}`
      const count = await countOf(name)
      if (count.used + checks > limits.most) return { state: 'worn', kept: Promise.resolve() }
      count.used += checks
      const isNewBlock = count.used > count.reserved
      if (isNewBlock) reserve(name, count)
      return { state: isNewBlock && count.used > limits.refreshFrom ? 'due' : 'fine', kept: count.kept }
    },
  }
}

function notCounted(cause: unknown): Unavailable {
  return new Unavailable('mpc_count_failed', 'Cannot write the check count of a share to the disk.', { cause })
}
