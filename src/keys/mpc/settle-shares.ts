/** Lets go of shares that the log names no more. */
import { Unavailable } from '../../core/errors.ts'
import type { JointKeysOf } from './ceremonies.ts'
import { generationOf } from './loaded-shares.ts'
import type { ShareStore } from './share-store.ts'

/**
 * Of each key, keeps the generation that the log names and those that were prepared after it. A party that does not have that
 * generation keeps all that it has: its old shares may be what a repair needs.
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
