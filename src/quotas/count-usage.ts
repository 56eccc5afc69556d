/** Counts a tenant's use of each quota, with statements of the capabilities that own the tables. */
import type { Pool } from 'pg'
import type { CountedQuota } from '../core/quotas.ts'

/** The tenant's current use, across all processes. */
export type CountUsage = (tenantId: string, quota: CountedQuota) => Promise<number>

/** For each quota, statements that count items of the tenant `$1`, each using an index; their results are added up. */
export type UsageCounts = Readonly<Record<CountedQuota, readonly string[]>>

export function createCountUsage(pool: Pool, counts: UsageCounts): CountUsage {
  return async (tenantId, quota) => {
    const { rows } = await pool.query<{ used: string }>({
      name: `quota_${quota}`,
      text: `SELECT ${counts[quota].map((statement) => `(${statement})`).join(' + ')} AS used`,
      values: [tenantId],
    })
    return Number(rows[0]?.used ?? 0)
  }
}
