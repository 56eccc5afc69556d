/**
 * Keeps the shares of a party to those that count or may still come to count. Goes in steps with rests between them, so that
 * signatures do not wait.
 *
 * Invariant: the generation that the log names is never removed, and where it is not here nothing of its key is: what is
 * here instead may be all that is left. A log that knows nothing, as that of a wrong database, removes nothing.
 */
import { type Clock, idTime } from '../../core/ids.ts'
import type { JointKey, JointKeysOf } from './ceremonies.ts'
import { generationOf } from './loaded-shares.ts'
import type { ShareStore } from './share-store.ts'

/** So many keys are asked about at once. */
const STEP = 50
/**
 * A ceremony is over in minutes; a log that lacks what it had, since its database was restored from a backup, is seen within
 * weeks. Until then the shares of the keys that it lost must be here: they are worth more than the room that they take.
 */
const ABANDONED_AFTER_MS = 30 * 24 * 60 * 60_000

export type TidySharesPorts = {
  readonly store: Pick<ShareStore, 'list' | 'settle' | 'drop'>
  readonly jointKeysOf: JointKeysOf
  readonly clock: Clock
  /** Waits between two steps. */
  readonly rest: () => Promise<void>
  /** One key could not be tidied; the others are. */
  readonly onError: (error: unknown, keyId: string) => void
}

/** How many keys were looked at, and how many shares went: those before the one that counts, and those that never came to count. */
export type Tidied = { readonly keys: number; readonly settled: number; readonly dropped: number }

type Held = ReturnType<ShareStore['list']>[number]

/**
 * Looks at every key of which there is a share.
 *
 * @param signal aborts when it is to stop before the end
 * @throws Unavailable when the log cannot be read: what was removed until then is
 */
export type TidyShares = (signal: AbortSignal) => Promise<Tidied>

export function createTidyShares({ store, jointKeysOf, clock, rest, onError }: TidySharesPorts): TidyShares {
  const isAbandoned = (id: string) => (idTime(id) ?? Infinity) < clock() - ABANDONED_AFTER_MS

  async function drop(keyId: string, generations: readonly string[]): Promise<number> {
    for (const generation of generations) await store.drop(keyId, generation)
    return generations.length
  }

  /** Shares prepared before the one that counts go; of those after it, attempts that are long over. */
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
    // That it has later keys of this party shows that the log is the right one, and reaches beyond what it lacks.
    for (const held of signal.aborted ? [] : unknown) {
      if (isAbandoned(held.keyId) && (idTime(held.keyId) ?? Infinity) < newestKnown)
        await tidy(held, async () => ({ settled: 0, dropped: await drop(held.keyId, held.generations) }))
    }
    return tidied
  }
}
