/** Moves a share between the store and the engine: it is in the engine's memory only while it is needed. */
import type { EngineResult } from './engine-calls.ts'
import type { EngineThread } from './engine-thread.ts'
import type { LoadedShare } from './engine-wire.ts'
import type { ItemOutcome } from './protocol.ts'
import { publicKeyAddress } from './public-key.ts'
import { RefusalError } from './refusal-error.ts'
import type { ShareStore } from './share-store.ts'

/** Runs a task with the number of a share in the engine's memory. The share's bytes are wiped. */
export async function withShare<T>(
  engine: EngineThread,
  share: Uint8Array,
  work: (number: number) => Promise<T>,
): Promise<T> {
  const { number } = await load(engine, share).finally(() => share.fill(0))
  try {
    return await work(number)
  } finally {
    await engine.run([{ name: 'unload', with: [number] }])
  }
}

/** Stores the share from a ceremony durably and returns its public key. */
export async function keepShare(
  { engine, store }: { readonly engine: EngineThread; readonly store: Pick<ShareStore, 'prepare'> },
  { keyId, generation }: { readonly keyId: string; readonly generation: string },
  outcome: readonly ItemOutcome[],
): Promise<readonly ItemOutcome[]> {
  const [item] = outcome
  if (item === undefined || !item.ok) return outcome
  try {
    const { number, threshold, parties, publicKey } = await load(engine, item.result)
    const facts = {
      threshold,
      parties,
      publicKey: `0x${Buffer.from(publicKey).toString('hex')}`,
      address: publicKeyAddress(publicKey),
    }
    await store.prepare(keyId, generation, item.result, facts)
    await engine.run([{ name: 'unload', with: [number] }])
    return [{ ok: true, result: publicKey }]
  } finally {
    item.result.fill(0)
  }
}

/** @throws RefusalError with the engine's failure */
export function resultOf([result]: readonly EngineResult[]): unknown {
  if (result === undefined) throw new TypeError('the engine returned nothing')
  if (result.ok) return result.value
  throw new RefusalError(result.failure)
}

async function load(engine: EngineThread, share: Uint8Array): Promise<LoadedShare> {
  return resultOf(await engine.run([{ name: 'load', with: [share] }])) as LoadedShare
}
