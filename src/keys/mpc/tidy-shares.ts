/**
 * Removes the shares of a party that are not in force and cannot come into force. Works in steps with pauses, so that
 * signatures do not wait.
 *
 * Invariant: the generation that the log names is never removed, and if it is not here, no share of its key is: the
 * existing shares may be all that is left. With a log that does not know any of the keys, such as that of a wrong
 * database, nothing is removed.
 */
import { type Clock, idTime } from '../../core/ids.ts'
import type { JointKey, JointKeysOf } from './ceremonies.ts'
import { generationOf } from './loaded-shares.ts'
import type { ShareStore } from './share-store.ts'

/** Keys looked up at once. */
const STEP = 50
/**
 * A ceremony takes minutes; a log that lost events, because its database was restored from a backup, is noticed within
 * weeks. Until then the shares of the keys it lost must be kept: they are worth more than their space.
 */
const ABANDONED_AFTER_MS = 30 * 24 * 60 * 60_000

export type TidySharesPorts = {
  readonly store: Pick<ShareStore, 'list' | 'settle' | 'drop'>
  readonly jointKeysOf: JointKeysOf
  readonly clock: Clock
  /** Waits between two steps. */
  readonly rest: () => Promise<void>
  /** One key could not be processed; the others are. */
  readonly onError: (error: unknown, keyId: string) => void
}

/**
 * The number of keys checked and of shares removed: those before the one in force, and those that never came into
 * force.
 */
export type Tidied = { readonly keys: number; readonly settled: number; readonly dropped: number }

type Held = ReturnType<ShareStore['list']>[number]

/**
 * Checks every key of which there is a share.
 *
 * @param signal aborts to stop early
 * @throws Unavailable when the log cannot be read; what was removed until then stays removed
 */
export type TidyShares = (signal: AbortSignal) => Promise<Tidied>

export function createTidyShares({ store, jointKeysOf, clock, rest, onError }: TidySharesPorts): TidyShares {
  const isAbandoned = (id: string) => (idTime(id) ?? Infinity) < clock() - ABANDONED_AFTER_MS

  async function drop(keyId: string, generations: readonly string[]): Promise<number> {
    for (const generation of generations) await store.drop(keyId, generation)
    return generations.length
  }

  /** Removes shares prepared before the one in force, and later ones from attempts that ended long ago. */
  async function tidyKnown({ keyId, generations }: Held, key: JointKey) {
    const named = generations.indexOf(generationOf(key))
    if (named === -1) return { settled: 0, dropped: 0 }
    if (named > 0) await store.settle(keyId, generationOf(key))
    return { settled: named, dropped: await drop(keyId, generations.slice(named + 1).filter(isAbandoned)) }
  }

  return async (signal) => {
    const all = store.list()
    const unknown: Held[] = []
    const tidied = { keys: 0, settled: 0, dropped: 0 }
    let newestKnown = 0

    async function tidy(held: Held, work: () => Promise<{ readonly settled: number; readonly dropped: number }>) {
      try {
        const { settled, dropped } = await work()
        tidied.settled += settled
        tidied.dropped += dropped
      } catch (error) {
        onError(error, held.keyId)
      }
    }

    for (let at = 0; at < all.length && !signal.aborted; at += STEP) {
      const step = all.slice(at, at + STEP)
      const keys = await jointKeysOf(step.map(({ keyId }) => keyId))
      for (const held of step) {
        const key = keys.get(held.keyId)
        if (key === undefined) unknown.push(held)
        else await tidy(held, () => tidyKnown(held, key))
        if (key !== undefined) newestKnown = Math.max(newestKnown, idTime(held.keyId) ?? 0)
      }
      tidied.keys += step.length
      await rest()
    }
    // The log has later keys of this party, so it is the right one and covers the time of the missing ones.
    for (const held of signal.aborted ? [] : unknown) {
      if (isAbandoned(held.keyId) && (idTime(held.keyId) ?? Infinity) < newestKnown)
        await tidy(held, async () => ({ settled: 0, dropped: await drop(held.keyId, held.generations) }))
    }
    return tidied
  }
}
