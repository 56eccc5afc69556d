/**
 * Reads one token for all wallets that may hold it, page by page: after it was registered, and after it became readable
 * again.
 */
import type { Pool } from 'pg'
import { WALLETS } from '../wallets/sql.ts'
import type { BalanceContext } from './balance-context.ts'
import type { BalanceChain, HolderRow } from './chain.ts'
import { decisionsOfReadings } from './decisions-of-readings.ts'
import { knownAssets } from './known-assets.ts'
import { type Holding, newestBlock, type Reading } from './read-holdings.ts'

/** Ten calls of a node and one commit. */
const WALLETS_PER_PAGE = 1_000

export type TokenPages = {
  /** EIP-55. */
  readonly contract: string
  /** Only wallets of this tenant. */
  readonly tenantId?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** Reads a page. `null` ends the run. */
  readonly read: (
    holdings: readonly Holding[],
    at: { readonly blockNumber: number; readonly blockHash: string },
  ) => Promise<readonly Reading[] | null>
}

/**
 * Reads at the newest block, so that no reading is older than what the follower left out, and records changes.
 *
 * @returns false when a page or the signal ended the run
 * @throws Unavailable when no node answers
 */
export async function readToken(
  ctx: Pick<BalanceContext, 'pool' | 'log' | 'load'>,
  chain: BalanceChain,
  { contract, tenantId, signal, read }: TokenPages,
): Promise<boolean> {
  const { pool, log, load } = ctx
  let after = ''
  for (;;) {
    const wallets = await nextHolders(pool, chain, { contract, tenantId, after })
    const last = wallets.at(-1)
    if (last === undefined) return true
    if (signal?.aborted) return false
    after = last.wallet_id
    const assets = await knownAssets(ctx, chain, [...new Set(wallets.map(({ tenant_id }) => tenant_id))])
    const holdings = wallets.flatMap(({ wallet_id: walletId, tenant_id, address }): Holding[] => {
      const asset = assets.get(tenant_id)?.find((known) => known.contract === contract)
      return asset === undefined ? [] : [{ walletId, tenantId: tenant_id, address, asset, orphaned: null }]
    })
    const readings = await read(holdings, await newestBlock(chain))
    if (readings === null) return false
    await log.commit(() =>
      decisionsOfReadings(readings, { load, cause: 'reconciliation', now: log.now(), actor: 'balance-reconciler' }),
    )
  }
}

type Page = { readonly contract: string; readonly tenantId: string | undefined; readonly after: string }

/** Wallets of the tenants that know the token; of all tenants when it is configured. */
async function nextHolders(pool: Pool, chain: BalanceChain, { contract, tenantId, after }: Page): Promise<HolderRow[]> {
  const configured = chain.tokens.some((token) => token.contract === contract)
  const known = `tenant_id IN (SELECT tenant_id FROM assets
                   WHERE chain_id = $1 AND lower(contract_address) = lower($3) AND removed_at IS NULL)`
  const { rows } = await pool.query<HolderRow>(
    `SELECT wallet_id, tenant_id, address FROM ${WALLETS} AS wallets
      WHERE chain_id = $1 AND address IS NOT NULL AND wallet_id > $2
        AND ($4::text IS NULL OR tenant_id = $4) AND ${configured ? '$3::text IS NOT NULL' : known}
      ORDER BY wallet_id LIMIT ${WALLETS_PER_PAGE}`,
    [chain.chainId, after, contract, tenantId ?? null],
  )
  return rows
}
