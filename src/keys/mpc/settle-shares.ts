/** Removes shares that the log no longer names. */
import { Unavailable } from '../../core/errors.ts'
import type { JointKeysOf } from './ceremonies.ts'
import { generationOf } from './loaded-shares.ts'
import type { ShareStore } from './share-store.ts'

/**
 * For each key, keeps the generation that the log names and later ones. A party without that generation keeps all it
 * has: its old shares may be needed for a repair.
 */
export function createSettleShares({
  store,
  jointKeysOf,
}: {
  readonly store: ShareStore
  readonly jointKeysOf: JointKeysOf
}): (keyIds: readonly string[]) => Promise<void> {
  return async (keyIds) => {
    for (const [keyId, key] of await jointKeysOf(keyIds)) {
      await store.settle(keyId, generationOf(key)).catch((error: unknown) => {
        if (!(error instanceof Unavailable) || error.code !== 'mpc_share_missing') throw error
      })
    }
  }
}
