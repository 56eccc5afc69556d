/** A wallet as those need it who sign for it. */
import { BursarError } from '../core/errors.ts'
import type { WalletKey } from './events.ts'
import type { WalletFacts, WalletFactsOf } from './wallet-facts.ts'

export type SigningWallet = WalletFacts & {
  /** EIP-55. */
  readonly address: string
  readonly key: WalletKey
}

/** A wallet that nobody can sign for, or whose record contradicts itself: what waits for it goes on waiting. */
export class WalletUnfit extends BursarError {
  override readonly type = 'internal_error'
  override readonly code = 'wallet_unfit'
  override readonly retryable = true
}

/** @throws WalletUnfit; BrokenChain where the facts come from the log and its events were edited */
export type SigningWalletOf = (walletId: string) => Promise<SigningWallet>

/** Invariant: a seed signs for wallets of its own tenant alone. */
export function createSigningWalletOf(factsOf: WalletFactsOf): SigningWalletOf {
  return async (walletId) => {
    const facts = await factsOf(walletId)
    if (facts === null || facts.address === null || facts.key === null) {
      throw new WalletUnfit(`Wallet ${walletId} has no key.`)
    }
    const { address, key, tenantId } = facts
    if (key.kind === 'hd' && key.tenantId !== tenantId) {
      throw new WalletUnfit(`Wallet ${walletId} of tenant ${tenantId} names a key of tenant ${key.tenantId}.`)
    }
    return { ...facts, address, key }
  }
}
