/** The parts shared by several capabilities of the API. */
import { PrismaPg } from '@prisma/adapter-pg'
import { createLimitsOfKeys } from '../access/limits-of-keys.ts'
import { createLimitReports } from '../access/report-limits.ts'
import { createAssetBooks } from '../assets/asset-books.ts'
import { createAccept, createFindReplay } from '../event-log/accept.ts'
import { PrismaClient } from '../generated/prisma/client.ts'
import { isManagedContract } from '../nft/collections/is-managed.ts'
import { createFindWallet } from '../wallets/find-wallet.ts'
import { createWalletFacts } from '../wallets/wallet-facts.ts'
import type { Kernel } from './kernel.ts'
import { policyParts } from './policy-parts.ts'

export type ApiParts = ReturnType<typeof apiParts>

export function apiParts(kernel: Kernel) {
  const { log, logger, metrics, pool, newId } = kernel
  const books = createAssetBooks(pool)
  const policies = policyParts(kernel, books)
  const limitReports = createLimitReports({
    log,
    onRefusal: () => metrics.countKeyRefusal('limit'),
    onError: (error, keyId) =>
      logger.warn({ err: error, key_id: keyId }, 'cannot record that a limit of an API key was reached; will retry'),
  })
  return {
    books,
    policies,
    findReplay: createFindReplay(pool),
    /** Accepts every client request that creates something. */
    accept: limitReports.reporting(policies.denialReports.deciding(createAccept({ log, pool, newId }))),
    limitReports,
    findWallet: createFindWallet(createWalletFacts(pool)),
    limitsOfKeys: createLimitsOfKeys(log),
    isManaged: (chainId: number, address: string) => isManagedContract(pool, chainId, address),
    prisma: new PrismaClient({ adapter: new PrismaPg(pool) }),
  }
}
