/** The tokens that wallets of a chain may hold: configured by the operator or registered by the tenant. */
import type { Context } from '../context.ts'
import type { Asset } from '../core/assets.ts'
import type { Row } from '../event-log/table-rows.ts'
import { assetOf, type BalanceChain, nativeOf, type RegisteredToken } from './chain.ts'

/** By tenant: the native currency first, then the configured tokens, then the registered ones. */
export async function knownAssets(
  { pool }: Pick<Context, 'pool'>,
  chain: BalanceChain,
  tenantIds: readonly string[],
): Promise<ReadonlyMap<string, readonly Asset[]>> {
  const { rows } = await pool.query<RegisteredToken & Pick<Row<'assets'>, 'tenant_id' | 'asset_id'>>({
    name: 'registered_tokens',
    text: `SELECT tenant_id, asset_id, contract_address, symbol, decimals FROM assets
            WHERE chain_id = $1 AND tenant_id = ANY ($2) AND removed_at IS NULL ORDER BY tenant_id, created_at, asset_id`,
    values: [chain.chainId, tenantIds],
  })
  const everybodys = [nativeOf(chain), ...chain.tokens]
  const known = new Map(
    tenantIds.map((tenantId) => [tenantId, new Map(everybodys.map((asset) => [asset.assetId, asset]))]),
  )
  for (const row of rows) {
    const asset = assetOf(chain, row)
    if (asset !== null) known.get(row.tenant_id)?.set(asset.assetId, asset)
  }
  return new Map([...known].map(([tenantId, assets]) => [tenantId, [...assets.values()]]))
}
