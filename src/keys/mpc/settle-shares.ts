/** Removes shares that the log no longer names. */
import type { JointKeysOf } from './ceremonies.ts'
import type { HeldByAll } from './held-by-all.ts'
import { generationOf } from './loaded-shares.ts'
import type { ShareStore } from './share-store.ts'

/**
 * For each key, keeps the generation that the log names and later ones. A party without that generation keeps all it
 * has, and so does every party while one does not have it: the old shares are needed for the next refresh.
 */
export async function settleShares(
  {
    store,
    jointKeysOf,
    heldByAll,
  }: {
    readonly store: Pick<ShareStore, 'settle' | 'generationsOf'>
    readonly jointKeysOf: JointKeysOf
    readonly heldByAll: Pick<HeldByAll, 'removing'>
  },
  keyIds: readonly string[],
): Promise<void> {
  for (const [keyId, key] of await jointKeysOf(keyIds)) {
    const generation = generationOf(key)
    if (store.generationsOf(keyId).indexOf(generation) > 0)
      await heldByAll.removing(key, () => store.settle(keyId, generation))
  }
}
