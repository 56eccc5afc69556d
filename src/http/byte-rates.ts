/**
 * The bytes each tenant transfers, as a debt that decreases over time: a body of any size is accepted while the tenant
 * has no debt, and nothing more until the debt is paid. Operators create tenants, so they are few and are remembered
 * until the process ends.
 */
import type { Clock } from '../core/ids.ts'

/** What an idle tenant may transfer at once, in seconds of its rate. */
const BURST_SECONDS = 10

type Account = { bytes: number; filledAtMs: number }

export type ByteRates = {
  /** Seconds until the tenant's debt is paid, rounded up; 0 without debt. @param perSecond its rate, bytes */
  readonly secondsInDebt: (tenantId: string, perSecond: number) => number
  readonly charge: (tenantId: string, perSecond: number, bytes: number) => void
}

export function createByteRates(clock: Clock): ByteRates {
  const accounts = new Map<string, Account>()

  function refilled(tenantId: string, perSecond: number): Account {
    const now = clock()
    const full = perSecond * BURST_SECONDS
    const account = accounts.get(tenantId) ?? { bytes: full, filledAtMs: now }
    account.bytes = Math.min(full, account.bytes + (Math.max(0, now - account.filledAtMs) / 1_000) * perSecond)
    account.filledAtMs = now
    accounts.set(tenantId, account)
    return account
  }

  return {
    secondsInDebt(tenantId, perSecond) {
      const { bytes } = refilled(tenantId, perSecond)
      return bytes > 0 ? 0 : Math.max(1, Math.ceil(-bytes / perSecond))
    },
    charge(tenantId, perSecond, bytes) {
      refilled(tenantId, perSecond).bytes -= bytes
    },
  }
}
