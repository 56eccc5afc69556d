/** Changes what an owner may change of a wallet: its label, its tags, and the notifications of a watched one. */
import type { Context } from '../context.ts'
import type { Metadata } from '../core/messages.ts'
import { walletAggregate } from './aggregate.ts'
import type { Revision } from './decider.ts'

/**
 * Omitted fields do not change; all changes are made, or none.
 *
 * @throws Conflict `wallet_archived`; ValidationFailed `watch_wallets_only`
 */
export async function reviseWallet(
  { log }: Pick<Context, 'log'>,
  walletId: string,
  revision: Revision,
  { metadata }: { readonly metadata: Metadata },
): Promise<void> {
  await log.execute(walletAggregate, walletId, { type: 'Revise', revision, now: log.now() }, { metadata })
}
