/**
 * Leases: exclusive rights to work on a lane or to lead. A lease has a fencing number that grows with each holder;
 * every append names it, and the database refuses the append of a former holder (Kleppmann, "How to do distributed
 * locking", 2016).
 */
import type { Pool } from 'pg'
import { createRenewals } from './renewals.ts'

/** What an append names: the database refuses it once another holder has the lease. */
export type Fence = { readonly name: string; readonly fence: bigint }

export type Lease = Fence & {
  /** Extends the lease by `leaseMs`. False when another holder has it. */
  readonly renew: () => Promise<boolean>
  /** As `renew`, without a statement if the lease was renewed within a third of its duration. */
  readonly keep: () => Promise<boolean>
  /** Renews the lease while `work` runs. The fence of the next append shows whether it was kept. */
  readonly during: <T>(work: () => Promise<T>) => Promise<T>
  /**
   * Releases the lease. `wanted`: another process asked for it meanwhile; the lease is kept, and the holder must look
   * for work once more before it releases again. `lost`: another holder already has it.
   */
  readonly release: (options?: { readonly force: boolean }) => Promise<'released' | 'wanted' | 'lost'>
}

export type Leases = {
  /** Takes a free or expired lease; `null` leaves a note for its holder that there is more work. */
  readonly acquire: (name: string) => Promise<Lease | null>
}

const RENEWALS_PER_LEASE = 3

/** @param holder identifies this process to operators: `signer@host:pid` */
export function createLeases(settings: {
  readonly pool: Pool
  readonly holder: string
  readonly leaseMs: number
}): Leases {
  const { pool, holder, leaseMs } = settings
  const renewalMs = leaseMs / RENEWALS_PER_LEASE
  const renewals = createRenewals({ pool, leaseMs, renewalMs })
  return {
    async acquire(name) {
      let renewedAt = performance.now()
      const { rows } = await pool.query<{ fence: string | null }>({
        name: 'acquire_lease',
        text: 'SELECT acquire_lease($1, $2, $3) AS fence',
        values: [name, holder, leaseMs],
      })
      const fence = rows[0]?.fence
      if (fence === null || fence === undefined) return null
      const { renew: askAgain, end } = renewals.begin({ name, fence })
      const renew = async () => {
        const askedAt = performance.now()
        const isKept = await askAgain()
        if (isKept) renewedAt = askedAt
        return isKept
      }
      return {
        name,
        fence: BigInt(fence),
        renew,
        keep: async () => performance.now() - renewedAt < renewalMs || renew(),
        async during(work) {
          // After a failed renewal, the next renewal or a refused append decides.
          const timer = setInterval(() => void renew().catch(() => undefined), renewalMs)
          try {
            return await work()
          } finally {
            clearInterval(timer)
          }
        },
        async release(options) {
          const released = await pool.query<{ outcome: 'released' | 'wanted' | 'lost' }>({
            name: 'release_lease',
            text: 'SELECT release_lease($1, $2, $3) AS outcome',
            values: [name, fence, options?.force ?? false],
          })
          const outcome = released.rows[0]?.outcome ?? 'lost'
          if (outcome !== 'wanted') end()
          return outcome
        },
      }
    },
  }
}
