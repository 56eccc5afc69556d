/** Metrics of quotas. */
import { Counter, type Registry } from 'prom-client'
import type { Quota } from '../core/quotas.ts'

export type QuotaMetrics = {
  /** One request refused because its tenant reached a quota. */
  readonly countQuotaRefusal: (quota: Quota) => void
}

export function createQuotaMetrics(registry: Registry): QuotaMetrics {
  const refusals = new Counter({
    name: 'bursar_quota_refusals_total',
    help: 'Requests refused because the tenant reached a quota, by quota.',
    labelNames: ['quota'],
    registers: [registry],
  })
  return { countQuotaRefusal: (quota) => refusals.inc({ quota }) }
}
