/**
 * Short-lived cache of the asset indexes of tenants, which every transfer reads. Registrations of this process are
 * visible immediately, those of another process after a few seconds, or when a lookup misses.
 */
import type { Pool } from 'pg'
import { tokenAsset } from '../core/assets.ts'
import { remembering } from '../event-log/remembered.ts'
import type { Row } from '../event-log/table-rows.ts'
import { type AssetChain, type AssetIndex, createAssetIndex, type KnownAsset } from './asset-index.ts'

/** How long another process's registration may be invisible to lookups that find a match. */
const FRESH_MS = 5_000
/** Cached indexes: a few kilobytes each. */
const REMEMBERED = 2_000

export type AssetBooks = {
  /** The assets that a tenant may name on a chain. @param options.fresh read them again now */
  readonly open: (tenantId: string, chain: AssetChain, options?: { readonly fresh: boolean }) => Promise<AssetIndex>
}

export function createAssetBooks(pool: Pool): AssetBooks {
  const indexes = remembering<AssetIndex>({ most: REMEMBERED, ms: FRESH_MS })

  async function read(tenantId: string, chain: AssetChain): Promise<AssetIndex> {
    return createAssetIndex(chain, await readRegistered(pool, tenantId, chain.chainId))
  }

  return {
    open(tenantId, chain, options) {
      const key = `${chain.chainId} ${tenantId}`
      if (options?.fresh) indexes.forget(key)
      return indexes.of(key, () => read(tenantId, chain))
    },
  }
}

type AssetRow = Pick<Row<'assets'>, 'symbol' | 'name' | 'decimals' | 'contract_address'>

async function readRegistered(pool: Pool, tenantId: string, chainId: number): Promise<KnownAsset[]> {
  const { rows } = await pool.query<AssetRow>({
    name: 'registered_assets',
    text: `SELECT symbol, name, decimals, contract_address FROM assets
            WHERE tenant_id = $1 AND chain_id = $2 AND removed_at IS NULL ORDER BY created_at, asset_id`,
    values: [tenantId, chainId],
  })
  return rows.map((row) => ({
    ...tokenAsset(chainId, row.contract_address, row.symbol, row.decimals),
    name: row.name,
    source: 'registered',
  }))
}

declare module '../api-context.ts' {
  interface ApiParts {
    readonly assets: { readonly books: AssetBooks }
  }
}
