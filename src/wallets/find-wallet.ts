/** Finds a wallet for a caller. A wallet of another tenant looks the same as one that does not exist. */
import type { Pool } from 'pg'
import { Conflict, NotFound, PermissionDenied } from '../core/errors.ts'
import type { Owner } from '../core/tenants.ts'
import { createWalletFacts, type WalletFacts } from './wallet-facts.ts'

/**
 * Archived wallets are included: the append refuses what they do not allow.
 *
 * @throws NotFound `wallet_not_found`; PermissionDenied `environment_mismatch` when it is the owner's, in the other
 *   environment
 */
export type FindWallet = (owner: Owner, walletId: string) => Promise<WalletFacts>

/** Remembers wallets, and looks up those of the same moment together, as `createWalletFacts`. */
export function createFindWallet(pool: Pool): FindWallet {
  const factsOf = createWalletFacts(pool)
  return async ({ tenantId, environment }, walletId) => {
    const facts = await factsOf(walletId)
    if (facts === null || facts.tenantId !== tenantId) throw new NotFound('wallet')
    if (facts.environment !== environment) {
      throw new PermissionDenied(
        'environment_mismatch',
        `This API key is for ${environment} and the wallet is on ${facts.environment}: use a key for ${facts.environment}.`,
      )
    }
    return facts
  }
}

/** A wallet with an address. @throws Conflict `wallet_not_ready` until a signer has created its key */
export function withAddress(wallet: WalletFacts): WalletFacts & { readonly address: string } {
  const { address } = wallet
  if (address === null) {
    throw new Conflict('wallet_not_ready', 'The wallet has no address yet: try again in a moment.')
  }
  return { ...wallet, address }
}

declare module '../api-context.ts' {
  interface ApiParts {
    readonly finds: { readonly findWallet: FindWallet }
  }
}
