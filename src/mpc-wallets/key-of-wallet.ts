/** The joint key of a wallet. Wallets of other types are refused. */
import { Conflict, ValidationFailed } from '../core/errors.ts'
import type { WalletFacts } from '../wallets/wallet-facts.ts'

/** @throws ValidationFailed `mpc_only`; Conflict `wallet_not_ready` until the key is created */
export function keyIdOf({ type, key }: Pick<WalletFacts, 'type' | 'key'>): string {
  if (type !== 'mpc') {
    const rule = `Only the key of an mpc wallet has shares, but this is ${type === 'hd' ? 'an hd' : 'a watch'} wallet.`
    throw ValidationFailed.field('wallet_id', 'mpc_only', rule)
  }
  if (key?.kind !== 'mpc') {
    throw new Conflict('wallet_not_ready', 'The wallet has no key yet: try again in a moment.')
  }
  return key.keyId
}
