/** What holds tenants to their quotas in an API process. */
import type { TenantQuotas } from '../http/tenant-quotas.ts'
import { createAllowances } from '../quotas/allowances.ts'
import { createCountUsage } from '../quotas/count-usage.ts'
import type { ApiParts } from './api-parts.ts'
import type { Kernel } from './kernel.ts'

export function tenantQuotas(
  { pool, config, metrics }: Pick<Kernel, 'pool' | 'config' | 'metrics'>,
  { findReplay }: Pick<ApiParts, 'findReplay'>,
): TenantQuotas {
  // Ages and rates, never the time of day: a clock that is set must not make a second of an hour.
  const clock = () => performance.now()
  const { admit } = createAllowances({ count: createCountUsage(pool), clock })
  return { admit, findReplay, clock, limitsOf: config.quotasOf, countRefusal: metrics.countQuotaRefusal }
}
