/**
 * Accepts the request to refresh the shares of a wallet's key. A signer process carries it out; the address does not
 * change.
 */
import type { Context } from '../context.ts'
import type { Metadata } from '../core/messages.ts'
import type { Accept, Accepted } from '../event-log/accept.ts'
import { mustDecideOn } from '../event-log/aggregate.ts'
import type { EventLog } from '../event-log/log.ts'
import type { WalletFacts } from '../wallets/wallet-facts.ts'
import { mpcKeyAggregate } from './aggregate.ts'
import { keyIdOf } from './key-of-wallet.ts'

/**
 * Opens the refresh; returns its id.
 *
 * @param lostBy the party whose share is to be repaired; `null` when none is lost
 * @throws ValidationFailed `mpc_only`, or for `party`; Conflict `wallet_not_ready`, `refresh_in_progress`;
 *   IdempotencyKeyReused
 */
export async function requestRefresh(
  {
    log,
    accept,
    newId,
  }: Pick<Context, 'newId'> & { readonly accept: Accept; readonly log: Pick<EventLog, 'load' | 'now'> },
  wallet: WalletFacts,
  lostBy: number | null,
  { metadata }: { readonly metadata: Metadata },
): Promise<Accepted> {
  const keyId = keyIdOf(wallet)
  const reason = lostBy === null ? 'requested' : 'recovery'
  return accept(metadata, async (append) => {
    const loaded = await log.load(mpcKeyAggregate, keyId)
    const refreshId = newId('refresh')
    const now = log.now()
    const command = { type: 'RequestRefresh', refreshId, reason, party: lostBy, now } as const
    const decisions = [mustDecideOn(mpcKeyAggregate, loaded, command, { metadata, now })]
    return append({ id: refreshId, commit: { decisions }, made: null })
  })
}
