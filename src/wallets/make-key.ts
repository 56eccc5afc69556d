/** Creates the key of a requested wallet, depending on its type. Runs in the signer process, as a job. */
import { Unavailable } from '../core/errors.ts'
import type { EventLog } from '../event-log/log.ts'
import type { KeyedType } from './events.ts'
import { loadRequest } from './load-request.ts'

/** Creates the key of a wallet of one type; does nothing if it has one. */
type MakeKey = (walletId: string) => Promise<void>

/**
 * @param makers `null` for a type whose keys are not created here
 * @throws NotFound for an unknown wallet; Unavailable when no key can be created now: the job is retried
 */
export function createMakeKey(
  log: EventLog,
  makers: Readonly<Record<KeyedType, MakeKey | null>>,
): (walletId: string) => Promise<void> {
  return async (walletId) => {
    const { state } = (await loadRequest(log, walletId)).wallet
    if (state.status !== 'requested' || state.type === 'watch') return
    const makeKey = makers[state.type]
    if (makeKey === null) throw new Unavailable('signer_unavailable', `This signer does not create ${state.type} keys.`)
    await makeKey(walletId)
  }
}
