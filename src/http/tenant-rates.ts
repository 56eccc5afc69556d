/**
 * What each tenant uses up per second (bytes, calls), as a debt that decreases over time: a body of any size is accepted
 * while the tenant has no debt, and nothing more until the debt is paid. Operators create tenants, so they are few and are remembered
 * until the process ends.
 */
import type { Clock } from '../core/ids.ts'

/** What an idle tenant may use at once, in seconds of its rate. */
const BURST_SECONDS = 10

type Account = { left: number; filledAtMs: number }

export type TenantRates = {
  /** Seconds until the tenant's debt is paid, rounded up; 0 without debt. @param perSecond its rate */
  readonly secondsInDebt: (tenantId: string, perSecond: number) => number
  readonly charge: (tenantId: string, perSecond: number, amount: number) => void
}

export function createTenantRates(clock: Clock): TenantRates {
  const accounts = new Map<string, Account>()

  function refilled(tenantId: string, perSecond: number): Account {
    const now = clock()
    const full = perSecond * BURST_SECONDS
    const account = accounts.get(tenantId) ?? { left: full, filledAtMs: now }
    account.left = Math.min(full, account.left + (Math.max(0, now - account.filledAtMs) / 1_000) * perSecond)
    account.filledAtMs = now
    accounts.set(tenantId, account)
    return account
  }

  return {
    secondsInDebt(tenantId, perSecond) {
      const { left } = refilled(tenantId, perSecond)
      return left > 0 ? 0 : Math.max(1, Math.ceil(-left / perSecond))
    },
    charge(tenantId, perSecond, amount) {
      refilled(tenantId, perSecond).left -= amount
    },
  }
}
