/** The enforcement of quotas in an API process, and the route that shows them. */

import type { ApiContext } from '../api-context.ts'
import type { Routes } from '../http/request.ts'
import type { TenantQuotas } from '../http/tenant-quotas.ts'
import { createAllowances } from '../quotas/allowances.ts'
import { countUsage } from '../quotas/count-usage.ts'
import { quotaRoutes } from '../quotas/routes.ts'
import { usageCounts } from './capabilities.ts'

export function composeQuotas({
  pool,
  config,
  metrics,
  findReplay,
  catalogue: { quotas: declared },
}: Pick<ApiContext, 'pool' | 'config' | 'catalogue' | 'metrics' | 'findReplay'>): {
  readonly quotas: TenantQuotas
  readonly routes: Routes
} {
  // For ages and rates, never the time of day: setting the clock must not turn a second into an hour.
  const clock = () => performance.now()
  const limitsOf = config.quotasOf
  const { admit, usage } = createAllowances({
    count: (...of) => countUsage({ pool, countsOf: usageCounts }, ...of),
    clock,
  })
  return {
    quotas: {
      declared,
      admit,
      findReplay,
      clock,
      limitsOf,
      countRefusal: (quota) => metrics.count('bursar_quota_refusals_total', { quota }),
    },
    routes: quotaRoutes({ declared, limitsOf, usage }),
  }
}
