/**
 * Leases: who may act alone on a lane, or lead. A lease has a fencing number that grows with each holder; every append
 * names it, and the database refuses the append of a holder that was overtaken (Kleppmann, "How to do distributed
 * locking", 2016).
 */
import type { Pool } from 'pg'

export type Lease = {
  readonly name: string
  readonly fence: bigint
  /** Keeps it for another `leaseMs`. False when it went to another holder. */
  readonly renew: () => Promise<boolean>
  /** Keeps it while `work` runs, however long that takes. Whether it was kept, the fence of the next append tells. */
  readonly during: <T>(work: () => Promise<T>) => Promise<T>
  /**
   * Gives it back. `wanted` means that somebody asked for it meanwhile: it is kept, and the holder must look for work once
   * more before it releases again. `lost` means that it was not ours any more.
   */
  readonly release: (options?: { readonly force: boolean }) => Promise<'released' | 'wanted' | 'lost'>
}

export type Leases = {
  /** Takes a lease that is free or expired; `null` leaves a note to its holder that there is more to do. */
  readonly acquire: (name: string) => Promise<Lease | null>
}

const RENEWALS_PER_LEASE = 3

/** @param holder names this process, for operators: `signer@host:pid` */
export function createLeases(settings: {
  readonly pool: Pool
  readonly holder: string
  readonly leaseMs: number
}): Leases {
  const { pool, holder, leaseMs } = settings
  return {
    async acquire(name) {
      const { rows } = await pool.query<{ fence: string | null }>({
        name: 'acquire_lease',
        text: 'SELECT acquire_lease($1, $2, $3) AS fence',
        values: [name, holder, leaseMs],
      })
      const fence = rows[0]?.fence
      if (fence === null || fence === undefined) return null
      async function renew(): Promise<boolean> {
        const renewed = await pool.query<{ kept: boolean }>({
          name: 'renew_lease',
          text: 'SELECT renew_lease($1, $2, $3) AS kept',
          values: [name, fence, leaseMs],
        })
        return renewed.rows[0]?.kept === true
      }
      return {
        name,
        fence: BigInt(fence),
        renew,
        async during(work) {
          // A renewal that fails is followed by another one, or by an append that is refused.
          const timer = setInterval(() => void renew().catch(() => undefined), leaseMs / RENEWALS_PER_LEASE)
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
          return released.rows[0]?.outcome ?? 'lost'
        },
      }
    },
  }
}
