/**
 * Whether a tenant has room for one more of a quota counted in the database. Each tenant and quota is counted at most
 * once a second, and what this process admitted since is added, so that a request costs an addition.
 *
 * Invariant: one process never lets a tenant exceed its limit. Of N processes each other one may add what it admitted
 * since its count, which is at most the remaining room it saw, within a second.
 */

import type { Clock } from '../core/ids.ts'
import type { CountedQuota } from '../core/registry.ts'

/** Maximum age of a count, ms: how long items accepted by other processes, or finished items, are not seen. */
const MAX_AGE_MS = 1_000
/** A slow count is kept longer: counting takes at most one in this many parts of a connection's time. */
const COUNTING_SHARE = 20
/**
 * Before a refusal a count older than this, ms, is repeated: items that failed or finished since must not cause a
 * refusal.
 */
const RECHECK_AFTER_MS = 100

/** Call `settle` once, with whether the admitted item was recorded. */
export type Admission =
  | { readonly admitted: true; readonly settle: (recorded: boolean) => void }
  | { readonly admitted: false; readonly used: number }

export type Allowances = {
  /** @throws database errors when a count is needed */
  readonly admit: (tenantId: string, quota: CountedQuota, limit: number) => Admission | Promise<Admission>
  /** The current use, as `admit` sees it. */
  readonly usage: (tenantId: string, quota: CountedQuota) => Promise<number>
}

type Tally = {
  counted: number
  countedAtMs: number
  maxAgeMs: number
  /** Admitted since the count began, or in progress at that time: the count may not include them. */
  unseen: number
  underWay: number
  counting: Promise<void> | null
}

/** @param clock monotonic: the process's own, in milliseconds */
export function createAllowances({
  count,
  clock,
}: {
  /** The tenant's current use, across all processes. */
  readonly count: (tenantId: string, quota: CountedQuota) => Promise<number>
  readonly clock: Clock
}): Allowances {
  const tallies = new Map<string, Tally>()

  function tallyOf(tenantId: string, quota: CountedQuota): Tally {
    const name = `${tenantId} ${quota}`
    const known = tallies.get(name)
    if (known !== undefined) return known
    const tally = { counted: 0, countedAtMs: -Infinity, maxAgeMs: MAX_AGE_MS, unseen: 0, underWay: 0, counting: null }
    tallies.set(name, tally)
    return tally
  }

  async function recount(tally: Tally, tenantId: string, quota: CountedQuota): Promise<void> {
    const { unseen, underWay } = tally
    const startedAtMs = clock()
    tally.counted = await count(tenantId, quota)
    // Items in progress may already be in the count: until the next count they count twice, never zero times.
    tally.unseen += underWay - unseen
    tally.countedAtMs = startedAtMs
    tally.maxAgeMs = Math.max(MAX_AGE_MS, COUNTING_SHARE * (clock() - startedAtMs))
  }

  /** Requests that need a count at the same time share one query. */
  function counted(tally: Tally, tenantId: string, quota: CountedQuota): Promise<void> {
    tally.counting ??= recount(tally, tenantId, quota).finally(() => {
      tally.counting = null
    })
    return tally.counting
  }

  function take(tally: Tally): Admission {
    tally.unseen += 1
    tally.underWay += 1
    return {
      admitted: true,
      settle(recorded) {
        tally.underWay -= 1
        if (!recorded) tally.unseen -= 1
      },
    }
  }

  async function decideAnew(tally: Tally, tenantId: string, quota: CountedQuota, limit: number): Promise<Admission> {
    await counted(tally, tenantId, quota)
    const used = usedOf(tally)
    return used < limit ? take(tally) : { admitted: false, used }
  }

  return {
    admit(tenantId, quota, limit) {
      const tally = tallyOf(tenantId, quota)
      const ageMs = clock() - tally.countedAtMs
      const used = usedOf(tally)
      if (ageMs <= tally.maxAgeMs && used < limit) return take(tally)
      const isCertain = ageMs < RECHECK_AFTER_MS || (ageMs <= tally.maxAgeMs && tally.unseen === 0)
      if (isCertain) return { admitted: false, used }
      return decideAnew(tally, tenantId, quota, limit)
    },
    async usage(tenantId, quota) {
      const tally = tallyOf(tenantId, quota)
      if (clock() - tally.countedAtMs > tally.maxAgeMs) await counted(tally, tenantId, quota)
      return usedOf(tally)
    },
  }
}

function usedOf({ counted, unseen }: Tally): number {
  return counted + unseen
}
