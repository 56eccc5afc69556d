/** Counts a tenant's use of each quota, with statements of the capabilities that own the tables. */
import type { Pool } from 'pg'
import type { CountedQuota } from '../core/quotas.ts'

/** The tenant's current use, across all processes. */
export type CountUsage = (tenantId: string, quota: CountedQuota) => Promise<number>

/** Statements that count items of the tenant `$1`, each using an index; their results are added up. */
export type UsageCounts = (quota: CountedQuota) => readonly string[]

export function createCountUsage(pool: Pool, countsOf: UsageCounts): CountUsage {
  return async (tenantId, quota) => {
    const sum = countsOf(quota).map((statement) => `(${statement})`)
    const { rows } = await pool.query<{ used: string }>({
      name: `quota_${quota}`,
      text: `SELECT ${sum.join(' + ')} AS used`,
      values: [tenantId],
    })
    return Number(rows[0]?.used ?? 0)
  }
}
