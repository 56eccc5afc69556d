/**
 * Renews the leases of a process together: a renewal of one also covers the others that are being renewed, whose next
 * renewals then need no statement. If somebody keeps the row of one locked, each is renewed alone.
 *
 * Invariant: a lease is covered only while its holder keeps asking to renew it: one that hangs loses its lease.
 */
import type { Pool } from 'pg'

type Held = {
  readonly name: string
  readonly fence: string
  /** When the holder last asked, by the process's timer. */
  askedAt: number
  /** When a statement for another lease last renewed this one too, since the holder last asked. */
  coveredAt: number
  isKept: boolean
}

export type Renewals = {
  /** @returns `renew`, false when another holder has the lease; call `end` when it is released */
  readonly begin: (lease: { readonly name: string; readonly fence: string }) => {
    readonly renew: () => Promise<boolean>
    readonly end: () => void
  }
}

/** @param settings.renewalMs the interval at which holders ask */
export function createRenewals(settings: {
  readonly pool: Pool
  readonly leaseMs: number
  readonly renewalMs: number
}): Renewals {
  const { pool, leaseMs, renewalMs } = settings
  const all = new Set<Held>()
  let running: { readonly leases: readonly Held[]; readonly done: Promise<void> } | null = null

  /** @param patienceMs how long to wait for a lock; 0 for as long as any statement */
  async function renewThese(leases: readonly Held[], patienceMs: number): Promise<void> {
    const startedAt = performance.now()
    const { rows } = await pool.query<{ name: string; fence: string; kept: boolean }>({
      name: 'renew_leases',
      // In the order in which an append locks leases.
      text: `WITH patience AS MATERIALIZED (SELECT set_config('lock_timeout', $4, true))
             SELECT name, fence, renew_lease(name, fence, $3) AS kept
               FROM (SELECT held.* FROM patience, unnest($1::text[], $2::bigint[]) AS held(name, fence) ORDER BY name) AS held`,
      values: [leases.map(({ name }) => name), leases.map(({ fence }) => fence), leaseMs, `${patienceMs}ms`],
    })
    const kept = new Set(rows.filter((row) => row.kept).map(({ name, fence }) => `${name} ${fence}`))
    for (const held of leases) {
      held.isKept = kept.has(`${held.name} ${held.fence}`)
      held.coveredAt = startedAt
    }
  }

  /** Renews those whose holders ask at this interval, and the one that asks now. */
  function renewWithOthers(asking: Held): Promise<void> {
    if (running?.leases.includes(asking)) return running.done
    const since = performance.now() - 2 * renewalMs
    const leases = [...all].filter((held) => held.askedAt > since)
    const done = renewThese([...new Set([...leases, asking])], Math.ceil(renewalMs / 4)).finally(() => {
      if (running?.done === done) running = null
    })
    running = { leases, done }
    return done
  }

  return {
    begin({ name, fence }) {
      const never = Number.NEGATIVE_INFINITY
      const held: Held = { name, fence, askedAt: never, coveredAt: never, isKept: true }
      all.add(held)
      return {
        async renew() {
          held.askedAt = performance.now()
          const isCovered = held.coveredAt > held.askedAt - renewalMs / 2
          if (!isCovered) await renewWithOthers(held).catch(() => renewThese([held], 0))
          held.coveredAt = never
          if (!held.isKept) all.delete(held)
          return held.isKept
        },
        end: () => all.delete(held),
      }
    },
  }
}
