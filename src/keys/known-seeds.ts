/**
 * Compares the seeds of a keystore with the recorded wallets. The keystore may be lost or belong to another
 * installation: a seed that derives other addresses signs nothing, and no new seed is created beside wallets whose
 * seeds are missing, since its wallets would be lost when the right keystore returns.
 */
import { Unavailable } from '../core/errors.ts'
import { childKey } from './hd-key.ts'
import { hdAccount } from './hd-path.ts'
import type { TenantSeeds } from './tenant-seeds.ts'

const ADVICE = 'restore the keystore that created them.'

/**
 * As the seeds of the keystore; both functions also throw Unavailable `seed_differs`, and creating one
 * `keystore_not_ours`. A value, because signers take seeds as `TenantSeeds`, whether they are compared or not.
 */
export function createKnownSeeds({
  seeds,
  walletOf,
  isOurs,
  onJudged,
}: {
  readonly seeds: TenantSeeds
  /** Any wallet created from a tenant's seed, with its address; `null` for a tenant without one. */
  readonly walletOf: (tenantId: string) => Promise<{ readonly index: number; readonly address: string } | null>
  /** Whether the keystore has a seed of any tenant that has wallets; true when no tenant has any. */
  readonly isOurs: () => Promise<boolean>
  /** Called with the reason why a tenant's seed cannot be used, or `null` when it can. */
  readonly onJudged: (tenantId: string, problem: string | null) => void
}): TenantSeeds {
  async function judged(tenantId: string, use: () => Promise<Uint8Array>): Promise<Uint8Array> {
    try {
      const seed = await use()
      onJudged(tenantId, null)
      return seed
    } catch (error) {
      if (error instanceof Unavailable) onJudged(tenantId, error.message)
      throw error
    }
  }

  async function loadKnown(tenantId: string, wallet: Awaited<ReturnType<typeof walletOf>>): Promise<Uint8Array> {
    const seed = await seeds.load(tenantId)
    if (wallet === null || addressOf(seed, wallet.index) === wallet.address) return seed
    seed.fill(0)
    throw new Unavailable(
      'seed_differs',
      `The keystore has a different seed of tenant ${tenantId} than the one that created its wallets: ${ADVICE}`,
    )
  }

  return {
    load: (tenantId) => judged(tenantId, async () => loadKnown(tenantId, await walletOf(tenantId))),
    loadOrCreate: (tenantId) =>
      judged(tenantId, async () => {
        const wallet = await walletOf(tenantId)
        if (wallet !== null) return loadKnown(tenantId, wallet)
        if (await isOurs()) return seeds.loadOrCreate(tenantId)
        throw new Unavailable(
          'keystore_not_ours',
          `The keystore has no seed of any tenant that has wallets, so it creates none for tenant ${tenantId}: ${ADVICE}`,
        )
      }),
  }
}

function addressOf(seed: Uint8Array, index: number): string {
  const account = hdAccount(seed)
  const key = childKey(account, index)
  const { address } = key
  key.wipe()
  account.wipe()
  return address
}
