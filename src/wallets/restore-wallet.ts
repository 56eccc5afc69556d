/** Restores an archived wallet. */
import type { Context } from '../context.ts'
import { Conflict } from '../core/errors.ts'
import type { Metadata } from '../core/messages.ts'
import { type Accept, type Accepted, acceptChange } from '../event-log/accept.ts'
import { UniqueRuleBroken } from '../event-log/append.ts'
import { walletAggregate } from './aggregate.ts'
import { findByAddress } from './find-by-address.ts'
import type { WalletFacts } from './wallet-facts.ts'

/**
 * Restoring an active wallet changes nothing.
 *
 * @throws Conflict `address_in_use` when the address is watched again by another wallet, which the error names;
 *   IdempotencyKeyReused
 */
export async function restoreWallet(
  ctx: Pick<Context, 'log' | 'newId' | 'pool'> & { readonly accept: Accept },
  wallet: WalletFacts,
  { metadata }: { readonly metadata: Metadata },
): Promise<Accepted> {
  try {
    const command = { type: 'Restore', now: ctx.log.now() } as const
    const target = { id: wallet.walletId, environment: wallet.environment }
    return await acceptChange(ctx, walletAggregate, target, command, metadata)
  } catch (error) {
    if (!(error instanceof UniqueRuleBroken) || wallet.address === null) throw error
    const { tenantId, chainId, address } = wallet
    const holder = await findByAddress(ctx.pool, { tenantId, chainId, address })
    throw new Conflict(
      'address_in_use',
      'Another active wallet has this address: archive that wallet first.',
      holder === null ? {} : { wallet_id: holder.walletId },
    )
  }
}
