/**
 * Has the parties create a joint key, and records it: from then on its shares are in force, and it is in the pool.
 *
 * Invariant: an interrupted attempt leaves shares of a key that the log never names, and no party uses them.
 */
import type { Context } from '../context.ts'
import type { Ceremonies } from '../keys/mpc/ceremonies.ts'
import type { MpcTerms } from '../wallets/events.ts'
import { mpcKeyAggregate } from './aggregate.ts'

/** The key belongs to the installation until a wallet gets it. */
const METADATA = { tenantId: 'system', actor: 'worker:signer' }

/**
 * @param keyId a new one for each attempt, so that the parties never mix two attempts
 * @throws Unavailable when the parties cannot create it now
 */
export async function generateKey(
  { log, ceremonies }: Pick<Context, 'log'> & { readonly ceremonies: Pick<Ceremonies, 'generateKey'> },
  keyId: string,
  { threshold, parties: count }: MpcTerms,
): Promise<void> {
  const parties = Array.from({ length: count }, (_, index) => index + 1)
  const { publicKey, address } = await ceremonies.generateKey({ keyId, threshold, parties })
  const generated = { publicKey, address, threshold, parties, generatedAt: log.now() }
  await log.execute(mpcKeyAggregate, keyId, { type: 'RecordGeneration', generated }, { metadata: METADATA })
}
