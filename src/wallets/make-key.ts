/** Creates the key of a requested wallet, depending on its type. Runs in the signer process, as a job. */
import type { Context } from '../context.ts'
import { Unavailable } from '../core/errors.ts'
import type { KeyedType } from './events.ts'
import { loadRequest } from './load-request.ts'

/**
 * @param makers create the key of a wallet of one type, or do nothing if it has one; missing for a type whose keys are
 *   not created here
 * @throws NotFound for an unknown wallet; Unavailable when no key can be created now: the job is retried
 */
export async function makeKey(
  { log }: Pick<Context, 'log'>,
  makers: Readonly<Partial<Record<KeyedType, (walletId: string) => Promise<void>>>>,
  walletId: string,
): Promise<void> {
  const { state } = (await loadRequest(log, walletId)).wallet
  if (state.status !== 'requested' || state.type === 'watch') return
  const make = makers[state.type]
  if (make === undefined) throw new Unavailable('signer_unavailable', `This signer does not create ${state.type} keys.`)
  await make(walletId)
}
