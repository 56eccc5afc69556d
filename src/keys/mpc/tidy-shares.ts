/**
 * Removes the shares of a party that are not in force and cannot come into force. Works in steps with pauses, so that
 * signatures do not wait.
 *
 * Invariant: the generation that the log names is never removed, and unless every party holds it, no share of its key
 * is: the existing shares may be all that is left. With a log that does not know any of the keys, such as that of a
 * wrong database, nothing is removed, nor is anything of a key whose events cannot be read.
 */
import { type Clock, idTime } from '../../core/ids.ts'
import type { JointKey, JointKeysOf } from './ceremonies.ts'
import type { HeldByAll } from './held-by-all.ts'
import { generationOf } from './loaded-shares.ts'
import type { ShareStore } from './share-store.ts'

/** Keys looked up at once. */
const STEP = 50
/**
 * A ceremony takes minutes; a log that lost events, because its database was restored from a backup, is noticed within
 * weeks. Until then the shares of the keys it lost must be kept: they are worth more than their space.
 */
const ABANDONED_AFTER_MS = 30 * 24 * 60 * 60_000

type TidyContext = {
  readonly store: Pick<ShareStore, 'list' | 'settle' | 'drop'>
  readonly jointKeysOf: JointKeysOf
  /** Whether the log has any event of this key, whether it can be read or not. */
  readonly isRecorded: (keyId: string) => Promise<boolean>
  readonly heldByAll: Pick<HeldByAll, 'removing'>
  readonly clock: Clock
  /** Waits between two steps. */
  readonly rest: () => Promise<void>
  /** One key could not be processed; the others are. */
  readonly onError: (error: unknown, keyId: string) => void
}

/**
 * The number of keys checked and of shares removed: those before the one in force, and those that never came into
 * force. `waiting` counts the keys whose shares were kept because a party did not say that it holds the one in force.
 */
export type Tidied = Removed & {
  readonly keys: number
  /** The keys whose older shares were kept. */
  readonly old: readonly string[]
  /** The keys of which the party has shares, and not the one that the log names. */
  readonly without: readonly string[]
}
type Removed = { readonly settled: number; readonly dropped: number; readonly waiting: number }

const NOTHING: Removed = { settled: 0, dropped: 0, waiting: 0 }

type Held = ReturnType<ShareStore['list']>[number]

/**
 * Checks every key of which there is a share.
 *
 * @param signal aborts to stop early
 * @throws Unavailable when the log cannot be read; what was removed until then stays removed
 */
export async function tidyShares(ctx: TidyContext, signal: AbortSignal): Promise<Tidied> {
  const all = ctx.store.list()
  const unknown: Held[] = []
  const tidied = { keys: 0, ...NOTHING, old: [] as string[], without: [] as string[] }
  let newestKnown = 0

  async function tidy(held: Held, work: () => Promise<Removed>) {
    try {
      const { settled, dropped, waiting } = await work()
      tidied.settled += settled
      tidied.dropped += dropped
      tidied.waiting += waiting
      if (waiting > 0) tidied.old.push(held.keyId)
    } catch (error) {
      ctx.onError(error, held.keyId)
    }
  }

  for (let at = 0; at < all.length && !signal.aborted; at += STEP) {
    const step = all.slice(at, at + STEP)
    const keys = await ctx.jointKeysOf(step.map(({ keyId }) => keyId))
    for (const held of step) {
      const key = keys.get(held.keyId)
      if (key === undefined) unknown.push(held)
      else await tidy(held, () => tidyKnown(ctx, held, key))
      if (key !== undefined && !held.generations.includes(generationOf(key))) tidied.without.push(held.keyId)
      if (key !== undefined) newestKnown = Math.max(newestKnown, idTime(held.keyId) ?? 0)
    }
    tidied.keys += step.length
    await ctx.rest()
  }
  for (const held of signal.aborted ? [] : unknown) await tidy(held, () => tidyUnknown(ctx, held, newestKnown))
  return tidied
}

function isAbandoned({ clock }: TidyContext, id: string): boolean {
  return (idTime(id) ?? Infinity) < clock() - ABANDONED_AFTER_MS
}

async function drop({ store }: TidyContext, keyId: string, generations: readonly string[]): Promise<number> {
  for (const generation of generations) await store.drop(keyId, generation)
  return generations.length
}

/** Removes shares prepared before the one in force, and later ones from attempts that ended long ago. */
async function tidyKnown(ctx: TidyContext, { keyId, generations }: Held, key: JointKey): Promise<Removed> {
  const named = generations.indexOf(generationOf(key))
  const abandoned = generations.slice(named + 1).filter((id) => isAbandoned(ctx, id))
  if (named === -1 || named + abandoned.length === 0) return NOTHING
  const isRemoved = await ctx.heldByAll.removing(key, async () => {
    if (named > 0) await ctx.store.settle(keyId, generationOf(key))
    await drop(ctx, keyId, abandoned)
  })
  return isRemoved ? { ...NOTHING, settled: named, dropped: abandoned.length } : { ...NOTHING, waiting: 1 }
}

/** Removes the shares of a key that was generated long ago, and of which the log has no event at all. */
async function tidyUnknown(ctx: TidyContext, { keyId, generations }: Held, newestKnown: number): Promise<Removed> {
  // The log has later keys of this party, so it is the right one and covers the time of the missing ones.
  if (!isAbandoned(ctx, keyId) || (idTime(keyId) ?? Infinity) >= newestKnown || (await ctx.isRecorded(keyId)))
    return NOTHING
  return { ...NOTHING, dropped: await drop(ctx, keyId, generations) }
}
