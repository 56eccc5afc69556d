/** Counts what a tenant has of each quota, from the read models: every count is over an index of what it counts. */
import type { Pool } from 'pg'
import type { CountedQuota } from '../core/quotas.ts'

/** What a tenant has in use now, whichever process accepted it. */
export type CountUsage = (tenantId: string, quota: CountedQuota) => Promise<number>

/**
 * A wallet and a watched address count whether archived or not: the address is followed all the same. The predicates are those of
 * the partial indexes.
 */
const COUNTS: Readonly<Record<CountedQuota, string>> = {
  wallets: `SELECT count(*) AS used FROM wallets WHERE tenant_id = $1 AND type <> 'watch'`,
  watched_addresses: `SELECT count(*) AS used FROM wallets WHERE tenant_id = $1 AND type = 'watch'`,
  assets: 'SELECT count(*) AS used FROM assets WHERE tenant_id = $1 AND removed_at IS NULL',
  transactions_waiting: `SELECT count(*) AS used FROM transactions
     WHERE tenant_id = $1 AND state IN ('requested', 'signed', 'submitted', 'replaced', 'reorged', 'awaiting_funds')`,
  ceremonies: `SELECT (SELECT count(*) FROM wallets WHERE tenant_id = $1 AND status = 'requested')
     + (SELECT count(*) FROM signatures WHERE tenant_id = $1 AND signature IS NULL)
     + (SELECT count(*) FROM nft_vouchers v JOIN nft_mints m USING (mint_id) WHERE v.signature IS NULL AND m.tenant_id = $1)
     + (SELECT count(*) FROM mpc_refreshes r JOIN mpc_keys k USING (key_id) WHERE r.status = 'pending' AND k.tenant_id = $1)
     + (SELECT count(*) FROM wallet_exports WHERE tenant_id = $1 AND status = 'requested') AS used`,
}

export function createCountUsage(pool: Pool): CountUsage {
  return async (tenantId, quota) => {
    const { rows } = await pool.query<{ used: string }>({
      name: `quota_${quota}`,
      text: COUNTS[quota],
      values: [tenantId],
    })
    return Number(rows[0]?.used ?? 0)
  }
}
