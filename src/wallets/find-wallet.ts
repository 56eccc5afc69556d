/** Finds a wallet for a caller. Another tenant's wallet looks exactly as one that does not exist. */
import { Conflict, NotFound, PermissionDenied } from '../core/errors.ts'
import type { Environment } from '../core/networks.ts'
import type { WalletFacts, WalletFactsOf } from './wallet-facts.ts'

/** On whose behalf, and in which environment, a wallet is asked for. */
export type WalletOwner = { readonly tenantId: string; readonly environment: Environment }

/**
 * Archived wallets are found too: what must not happen to them, the append refuses.
 *
 * @throws NotFound `wallet_not_found`; PermissionDenied `environment_mismatch` when it is the owner's, elsewhere
 */
export type FindWallet = (owner: WalletOwner, walletId: string) => Promise<WalletFacts>

export function createFindWallet(factsOf: WalletFactsOf): FindWallet {
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

/** A wallet that has its address. @throws Conflict `wallet_not_ready` until a signer has made its key */
export function withAddress(wallet: WalletFacts): WalletFacts & { readonly address: string } {
  const { address } = wallet
  if (address === null) {
    throw new Conflict('wallet_not_ready', 'The wallet has no address yet: try again in a moment.')
  }
  return { ...wallet, address }
}
