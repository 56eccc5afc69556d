/**
 * Whether a tenant has room for one more of something that is counted in the database. A count is asked for at most once a second
 * for each tenant and quota, and what this process let through since is added to it, so that a request costs an addition.
 *
 * Invariant: one process never lets a tenant have more than its limit. Of N processes each other one may add what it let
 * through since the count, which is at most what it saw remaining, and in a second.
 */
import type { Clock } from '../core/ids.ts'
import type { CountedQuota } from '../core/quotas.ts'
import type { CountUsage } from './count-usage.ts'

/** How old a count may be: how long what others accepted, or what was finished, goes unseen. */
const MAX_AGE_MS = 1_000
/** A count that takes long is kept longer: counting takes at most this part of a connection's time. */
const COUNTING_SHARE = 20
/** Before a refusal the count is made anew when it is this old: what failed or was finished since must not stand in the way. */
const RECHECK_AFTER_MS = 100

/** `settle` says, once, whether what was let through was recorded. */
export type Admission =
  | { readonly admitted: true; readonly settle: (recorded: boolean) => void }
  | { readonly admitted: false; readonly used: number }

export type Allowances = {
  /** @throws what the database throws when it has to be asked */
  readonly admit: (tenantId: string, quota: CountedQuota, limit: number) => Admission | Promise<Admission>
  /** What is in use, as `admit` would see it. */
  readonly usage: (tenantId: string, quota: CountedQuota) => Promise<number>
}

type Tally = {
  counted: number
  countedAtMs: number
  maxAgeMs: number
  /** Let through since the count began, or under way when it did: what the count need not have seen. */
  unseen: number
  underWay: number
  counting: Promise<void> | null
}

/** @param clock only moves on: the process's own, in milliseconds */
export function createAllowances({ count, clock }: { readonly count: CountUsage; readonly clock: Clock }): Allowances {
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
    // What was under way may be in the count already: it counts twice until the next one, never not at all.
    tally.unseen += underWay - unseen
    tally.countedAtMs = startedAtMs
    tally.maxAgeMs = Math.max(MAX_AGE_MS, COUNTING_SHARE * (clock() - startedAtMs))
  }

  /** Requests that need a count at the same moment ask once. */
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
