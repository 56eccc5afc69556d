/** The quotas of a tenant: limits that keep one tenant from exhausting the service. */
import type { QuotaDeclaration } from './declaration.ts'
import { BursarError, type ErrorItem } from './errors.ts'
import type { Quota } from './registry.ts'

/** The limit of each quota; 0 means unlimited. */
export type QuotaLimits = Readonly<Record<Quota, number>>

/** The limits of a tenant. */
export type LimitsOf = (tenantId: string) => QuotaLimits

/** The current use of a quota. */
export type QuotaUse = { readonly quota: Quota; readonly limit: number; readonly used: number }

/** @returns the setting of a quota, for example `QUOTA_WALLETS` */
export function settingOf(quota: Quota): string {
  return `QUOTA_${quota.toUpperCase()}`
}

/** A tenant has reached a quota. Nothing was recorded. */
export class QuotaExceeded extends BursarError {
  override readonly type = 'rate_limit_error'
  override readonly code: `quota_${Quota}`
  override readonly retryable = true
  readonly use: QuotaUse
  /** When a retry may help; `null` when something must be removed first. */
  readonly retryAfterSeconds: number | null

  constructor(
    use: QuotaUse,
    { counted, remedy }: Pick<QuotaDeclaration, 'counted' | 'remedy'>,
    retryAfterSeconds: number | null,
  ) {
    super(
      `The tenant has reached its quota of ${use.limit} ${counted}. ${remedy}, or ask the operator to raise ` +
        `${settingOf(use.quota)} or the tenant's entry in QUOTA_OVERRIDES.`,
    )
    this.code = `quota_${use.quota}`
    this.use = use
    this.retryAfterSeconds = retryAfterSeconds
  }

  override get items(): readonly ErrorItem[] {
    const { quota, limit, used } = this.use
    const details = { quota, setting: settingOf(quota), limit, used, remaining: Math.max(0, limit - used) }
    return [{ type: this.type, code: this.code, message: this.message, details }]
  }
}
