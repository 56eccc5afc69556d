/** A wallet as signers use it. */
import type { WalletKey } from './events.ts'
import { type WalletFacts, type WalletFactsOf, WalletUnfit } from './wallet-facts.ts'

export type SigningWallet = WalletFacts & {
  /** EIP-55. */
  readonly address: string
  readonly key: WalletKey
}

/** @throws WalletUnfit; BrokenChain when the facts come from the log and its events were edited */
export type SigningWalletOf = (walletId: string) => Promise<SigningWallet>

/** Invariant: a seed signs only for wallets of its own tenant. */
export function createSigningWalletOf(factsOf: WalletFactsOf): SigningWalletOf {
  return async (walletId) => {
    const facts = await factsOf(walletId)
    if (facts === null || facts.address === null || facts.key === null) {
      throw new WalletUnfit(`Wallet ${walletId} has no key.`)
    }
    const { address, key, tenantId } = facts
    if (key.kind === 'hd' && key.tenantId !== tenantId) {
      throw new WalletUnfit(`Wallet ${walletId} of tenant ${tenantId} refers to a key of tenant ${key.tenantId}.`)
    }
    return { ...facts, address, key }
  }
}

/** Whether parties hold the shares of its key, and it is this one. */
export function isJointKeyOf({ key }: SigningWallet, keyId: string): boolean {
  return key.kind === 'mpc' && key.keyId === keyId
}

declare module '../capability.ts' {
  interface SigningNeeds {
    readonly walletOf: SigningWalletOf
  }
  interface CoverNeeds {
    readonly walletOf: SigningWalletOf
  }
}
