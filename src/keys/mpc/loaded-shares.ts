/**
 * Shares in the memory of the signing engine: recently used ones, and for each key only the generation that the log
 * names now.
 */
import { LRUCache } from 'lru-cache'
import type { JointKey } from './ceremonies.ts'
import type { EngineThread } from './engine-thread.ts'
import type { LoadedShare } from './engine-wire.ts'
import { RefusalError } from './refusal-error.ts'
import type { ShareStore } from './share-store.ts'

/** About 400 kB each in the engine. */
const LOADED = 200

/** The generation name of shares created with the key. */
export const GENERATED = 'generated'

/** The generation name of the current epoch's shares. */
export function generationOf({ refreshId }: Pick<JointKey, 'refreshId'>): string {
  return refreshId ?? GENERATED
}

export type LoadedShares = {
  /**
   * The number of a key's share in the engine.
   *
   * @throws RefusalError `share_missing` when this party has no share of this key; Unavailable when it cannot be opened
   */
  readonly numberOf: (key: JointKey) => Promise<number>
}

type Held = { readonly generation: string; readonly thread: number; readonly number: Promise<number> }

export function createLoadedShares(settings: {
  readonly me: number
  readonly engine: Pick<EngineThread, 'run' | 'generation'>
  readonly store: ShareStore
}): LoadedShares {
  const { me, engine, store } = settings
  const held = new LRUCache<string, Held>({ max: LOADED, dispose: (old) => void unload(old) })

  async function unload({ thread, number }: Held): Promise<void> {
    const loaded = await number.catch(() => undefined)
    if (loaded !== undefined && thread === engine.generation()) await engine.run([{ name: 'unload', with: [loaded] }])
  }

  async function load(key: JointKey): Promise<number> {
    const { share } = await store.load(key.keyId, generationOf(key))
    const [result] = await engine.run([{ name: 'load', with: [share] }]).finally(() => share.fill(0))
    if (result === undefined || !result.ok) throw missing('the stored file is not a share')
    const { number, party, threshold, parties, publicKey } = result.value as LoadedShare
    const belongs =
      party === me &&
      threshold === key.threshold &&
      parties === key.parties.length &&
      `0x${Buffer.from(publicKey).toString('hex')}` === key.publicKey
    if (belongs) return number
    await engine.run([{ name: 'unload', with: [number] }])
    throw missing('the stored share belongs to another key')
  }

  return {
    async numberOf(key) {
      const generation = generationOf(key)
      const found = held.get(key.keyId)
      if (found?.generation === generation && found.thread === engine.generation()) return found.number
      const number = load(key)
      // A call starts the thread if there is none, so its number is known only from here on.
      const fresh: Held = { generation, thread: engine.generation(), number }
      held.set(key.keyId, fresh)
      number.catch(() => {
        if (held.peek(key.keyId) === fresh) held.delete(key.keyId)
      })
      return number
    },
  }
}

function missing(reason: string): RefusalError {
  return new RefusalError({ kind: 'share_missing', party: null, reason })
}
