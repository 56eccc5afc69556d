/** Reading balances, for the balance route and for previews. */
import { createResolveAsset } from '../assets/resolve-asset.ts'
import { createAvailableOf } from '../balances/available.ts'
import { createBalanceChains } from '../balances/chain.ts'
import { createHeldTokens } from '../balances/held-tokens.ts'
import { createReadBalance } from '../balances/read-balance.ts'
import type { ApiParts } from './api-parts.ts'
import type { Kernel } from './kernel.ts'

export function composeBalanceReads({ pool, clock, chains, chainOf }: Kernel, { books, findWallet }: ApiParts) {
  const resolve = createResolveAsset(books)
  const readBalance = createReadBalance({
    pool,
    clock,
    findWallet,
    chainOf: createBalanceChains(chains.all),
    resolveAsset: (wallet, name) => resolve(wallet.tenantId, chainOf(wallet.chainId).settings, name),
    assetsOf: async (wallet) => (await books.open(wallet.tenantId, chainOf(wallet.chainId).settings)).all,
  })
  return { readBalance, availableOf: createAvailableOf(pool), heldTokens: createHeldTokens(pool) }
}

export type BalanceReads = ReturnType<typeof composeBalanceReads>
