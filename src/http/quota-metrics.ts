/** Metrics of quotas, and of requests that their API key did not let in. */
import { Counter, type Registry } from 'prom-client'
import type { Quota } from '../core/quotas.ts'

/** `invalid`: unknown, expired or revoked. `limit`: what it may spend, or its requests a day. */
export type KeyRefusal = 'missing' | 'invalid' | 'address' | 'scope' | 'limit'

export type QuotaMetrics = {
  /** One request refused because its tenant reached a quota. */
  readonly countQuotaRefusal: (quota: Quota) => void
  /** One request refused because of its API key. */
  readonly countKeyRefusal: (reason: KeyRefusal) => void
}

export function createQuotaMetrics(registry: Registry): QuotaMetrics {
  const registers = [registry]
  const refusals = new Counter({
    name: 'bursar_quota_refusals_total',
    help: 'Requests refused because the tenant reached a quota, by quota.',
    labelNames: ['quota'],
    registers,
  })
  const keys = new Counter({
    name: 'bursar_api_key_refusals_total',
    help: 'Requests refused because of their API key: `missing`, `invalid` (unknown, expired or revoked), `address`, `scope` or `limit`.',
    labelNames: ['reason'],
    registers,
  })
  return {
    countQuotaRefusal: (quota) => refusals.inc({ quota }),
    countKeyRefusal: (reason) => keys.inc({ reason }),
  }
}
