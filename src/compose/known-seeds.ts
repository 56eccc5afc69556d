/** The seeds that signers use: those that made the wallets in the log. What stands in the way is logged and reported. */
import { createKnownSeeds } from '../keys/known-seeds.ts'
import { openTenantSeeds, type TenantSeeds, tenantsWithSeeds } from '../keys/tenant-seeds.ts'
import { anyHasSeedWallet, createSeedWalletOf } from '../wallets/seed-wallets.ts'
import type { WalletFactsOf } from '../wallets/wallet-facts.ts'
import type { Kernel } from './kernel.ts'
import type { OpenedKeystore } from './open-keystore.ts'

export type WatchedSeeds = {
  readonly seeds: TenantSeeds
  /** Why seeds cannot be used, of one tenant and how many more; `null` when all that were asked for can. */
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
    walletOf: createSeedWalletOf(pool, factsOf),
    isOurs: async () => anyHasSeedWallet(pool, await tenantsWithSeeds(opened.keystore)),
    onJudged(tenantId, problem) {
      if (problem === null) {
        problems.delete(tenantId)
        return
      }
      if (problems.get(tenantId) !== problem)
        logger.error({ tenant_id: tenantId, reason: problem }, 'the seed of a tenant cannot be used: nothing is signed')
      problems.set(tenantId, problem)
    },
  })
  return {
    seeds,
    problem() {
      const [first] = problems.values()
      if (first === undefined) return null
      return problems.size === 1 ? first : `${first} The same of ${problems.size - 1} more tenants.`
    },
  }
}
