/** The routes of wallets and their dependencies. */
import { createDescribeAsset } from '../assets/describe-asset.ts'
import { findPositive } from '../balances/find-balances.ts'
import type { Routes } from '../http/request.ts'
import { createArchiveWallet } from '../wallets/archive-wallet.ts'
import { openingRoutes } from '../wallets/opening-routes.ts'
import { createWalletReads } from '../wallets/read-wallets.ts'
import { createRequestWallet } from '../wallets/request-wallet.ts'
import { createRestoreWallet } from '../wallets/restore-wallet.ts'
import { createReviseWallet } from '../wallets/revise-wallet.ts'
import { walletRoutes } from '../wallets/routes.ts'
import { createHasSigner } from '../wallets/signer-presence.ts'
import { createWaitForWallet } from '../wallets/wait-for-wallet.ts'
import { createWatchWallet } from '../wallets/watch-wallet.ts'
import type { ComposedApi } from './api-context.ts'

export function composeWalletRoutes(ctx: ComposedApi): Routes[] {
  const { config, log, pool, wakeUps, newId, chains, chainOf, accept, books, findWallet, prisma } = ctx
  const reads = createWalletReads({ pool, prisma })
  const describe = createDescribeAsset(books)
  return [
    openingRoutes({
      chainIdOf: (key) => chains.get(key).settings.chainId,
      requestWallet: createRequestWallet({
        log,
        accept,
        newId,
        hasSigner: createHasSigner(pool),
        mpcTerms: config.mpc,
      }),
      watchWallet: createWatchWallet({ log, accept, pool, newId }),
      waitForWallet: createWaitForWallet({ pool, wakeUps }),
      reads,
    }),
    walletRoutes({
      findWallet,
      reads,
      reviseWallet: createReviseWallet(log),
      archiveWallet: createArchiveWallet({
        log,
        pool,
        positiveBalances: (walletId) => findPositive(pool, walletId),
        describeAsset: (wallet, assetId) => describe(wallet.tenantId, chainOf(wallet.chainId).settings, assetId),
      }),
      restoreWallet: createRestoreWallet({ log, pool, accept, newId }),
    }),
  ]
}
