/** Gives a requested wallet its key, depending on its type. Runs in the signer process, as a job. */
import { Unavailable } from '../core/errors.ts'
import { type AdoptKeyContext, adoptKey } from './adopt-key.ts'
import type { KeyedType } from './events.ts'
import { loadRequest } from './load-request.ts'

/**
 * A wallet that was opened from another one gets the key of that one.
 *
 * @param makers create the key of a wallet of one type, or do nothing if it has one; missing for a type whose keys are
 *   not created here
 * @throws NotFound for an unknown wallet; Unavailable when no key can be created now: the job is retried
 */
export async function makeKey(
  ctx: AdoptKeyContext,
  makers: Readonly<Partial<Record<KeyedType, (walletId: string) => Promise<void>>>>,
  walletId: string,
): Promise<void> {
  const { state } = (await loadRequest(ctx.log, walletId)).wallet
  if (state.status !== 'requested' || state.type === 'watch') return
  if (state.openedFrom !== null) return adoptKey(ctx, walletId)
  const make = makers[state.type]
  if (make === undefined) throw new Unavailable('signer_unavailable', `This signer does not create ${state.type} keys.`)
  await make(walletId)
}
