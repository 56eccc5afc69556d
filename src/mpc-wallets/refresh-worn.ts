/** Requests a refresh when a party reports that the shares of a key have reached their number of signatures. */
import type { Context } from '../context.ts'
import { Conflict } from '../core/errors.ts'
import { mpcKeyAggregate } from './aggregate.ts'

/**
 * A party that reports this for fresh shares is faulty, and a party that is down makes a refresh fail: neither is
 * repeated immediately.
 */
const PAUSE_MS = 60 * 60_000

/** Does nothing while a refresh is open, for an hour after the last request, and for a key without a wallet. */
export async function refreshWorn(
  {
    log,
    newId,
    logger,
  }: Pick<Context, 'log' | 'newId'> & {
    readonly logger: { readonly info: (fields: object, message: string) => void }
  },
  keyId: string,
): Promise<void> {
  const { state } = await log.load(mpcKeyAggregate, keyId)
  if (state.status !== 'assigned' || state.wallet === null) return
  const now = log.now()
  if (state.refresh !== null && Date.parse(now) - Date.parse(state.refresh.requestedAt) < PAUSE_MS) return
  const refreshId = newId('refresh')
  const command = { type: 'RequestRefresh', refreshId, reason: 'scheduled', party: null, now } as const
  const metadata = { tenantId: state.wallet.tenantId, actor: 'worker:signer' }
  try {
    await log.execute(mpcKeyAggregate, keyId, command, { metadata })
    logger.info({ key_id: keyId }, 'the shares of a key made many signatures; requested a refresh')
  } catch (error) {
    if (!(error instanceof Conflict)) throw error // Already requested meanwhile.
  }
}
