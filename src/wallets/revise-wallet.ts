/** Changes what an owner may change of a wallet: its label, its tags, and the notifications of a watched one. */
import type { Metadata } from '../core/messages.ts'
import type { EventLog } from '../event-log/log.ts'
import { walletAggregate } from './aggregate.ts'
import type { Revision } from './decider.ts'

/**
 * Omitted fields do not change; all changes are made, or none.
 *
 * @throws Conflict `wallet_archived`; ValidationFailed `watch_wallets_only`
 */
export type ReviseWallet = (
  walletId: string,
  revision: Revision,
  context: { readonly metadata: Metadata },
) => Promise<void>

export function createReviseWallet(log: EventLog): ReviseWallet {
  return async (walletId, revision, { metadata }) => {
    await log.execute(walletAggregate, walletId, { type: 'Revise', revision, now: log.now() }, { metadata })
  }
}
