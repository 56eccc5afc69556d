/** Finds a token that a tenant had registered and removed. */

import type { Pool } from 'pg'
import { tokenAsset } from '../core/assets.ts'
import type { Row } from '../event-log/table-rows.ts'
import type { AssetChain, KnownAsset } from './asset-index.ts'

export type RemovedAsset = { readonly asset: KnownAsset /** ISO 8601. */; readonly removedAt: string }

type RemovedRow = Pick<Row<'assets', { readonly removed_at: Date }>, 'symbol' | 'name' | 'decimals' | 'removed_at'>

/** @param contract EIP-55 */
export async function findRemoved(
  pool: Pool,
  tenantId: string,
  { chainId }: AssetChain,
  contract: string,
): Promise<RemovedAsset | null> {
  const { rows } = await pool.query<RemovedRow>({
    name: 'removed_asset',
    text: `SELECT symbol, name, decimals, removed_at FROM assets
            WHERE tenant_id = $1 AND asset_id = $2 AND removed_at IS NOT NULL`,
    values: [tenantId, tokenAsset(chainId, contract, '', 0).assetId],
  })
  const [row] = rows
  if (row === undefined) return null
  const { symbol, name, decimals, removed_at: removedAt } = row
  const asset: KnownAsset = { ...tokenAsset(chainId, contract, symbol, decimals), name, source: 'registered' }
  return { asset, removedAt: removedAt.toISOString() }
}
