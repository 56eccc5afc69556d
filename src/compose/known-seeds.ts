/** The seeds that signers use: those that created the wallets in the log. Problems are logged and reported. */
import { createKnownSeeds } from '../keys/known-seeds.ts'
import { openTenantSeeds, type TenantSeeds, tenantsWithSeeds } from '../keys/tenant-seeds.ts'
import { anyHasSeedWallet, seedWalletOf } from '../wallets/seed-wallets.ts'
import type { WalletFactsOf } from '../wallets/wallet-facts.ts'
import type { Kernel } from './kernel.ts'
import type { OpenedKeystore } from './open-keystore.ts'

export type WatchedSeeds = {
  readonly seeds: TenantSeeds
  /**
   * Why seeds cannot be used: the problem of one tenant and the number of others; `null` when all requested ones can.
   */
  readonly problem: () => string | null
}

/** @throws Unavailable `keystore_key_wrong` */
export async function openKnownSeeds(
  { pool, logger }: Kernel,
  opened: OpenedKeystore,
  factsOf: WalletFactsOf,
): Promise<WatchedSeeds> {
  const problems = new Map<string, string>()
  const seeds = createKnownSeeds({
    seeds: await openTenantSeeds(opened),
    walletOf: (tenantId) => seedWalletOf(pool, factsOf, tenantId),
    isOurs: async () => anyHasSeedWallet(pool, await tenantsWithSeeds(opened.keystore)),
    onJudged(tenantId, problem) {
      if (problem === null) {
        problems.delete(tenantId)
        return
      }
      if (problems.get(tenantId) !== problem)
        logger.error(
          { tenant_id: tenantId, reason: problem },
          'cannot use the seed of a tenant; its wallets do not sign',
        )
      problems.set(tenantId, problem)
    },
  })
  return {
    seeds,
    problem() {
      const [first] = problems.values()
      if (first === undefined) return null
      return problems.size === 1 ? first : `${first} ${problems.size - 1} more tenants have the same problem.`
    },
  }
}
