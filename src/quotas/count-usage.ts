/** Counts a tenant's use of each quota, with statements of the capabilities that own the tables. */

import type { Context } from '../context.ts'
import type { CountedQuota } from '../core/registry.ts'

/** Statements that count items of the tenant `$1`, each using an index; their results are added up. */
export type UsageCounts = (quota: CountedQuota) => readonly string[]

/** The tenant's current use, across all processes. */
export async function countUsage(
  { pool, countsOf }: Pick<Context, 'pool'> & { readonly countsOf: UsageCounts },
  tenantId: string,
  quota: CountedQuota,
): Promise<number> {
  const sum = countsOf(quota).map((statement) => `(${statement})`)
  const { rows } = await pool.query<{ used: string }>({
    name: `quota_${quota}`,
    text: `SELECT ${sum.join(' + ')} AS used`,
    values: [tenantId],
  })
  return Number(rows[0]?.used ?? 0)
}
