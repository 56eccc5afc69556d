/**
 * The first observation of a wallet: its native currency and every token of its tenant, including zeros, so that later
 * reads find rows. Made once; from then on the follower updates them.
 */
import type { Pool } from 'pg'
import type { Row } from '../event-log/table-rows.ts'
import { WALLETS } from '../wallets/sql.ts'
import type { BalanceContext } from './balance-context.ts'
import { decisionsOfReadings } from './decisions-of-readings.ts'
import { knownAssets } from './known-assets.ts'
import { newestBlock } from './read-holdings.ts'

/**
 * Reads at the newest block instead of the follower's cursor: this covers blocks processed just before the wallet
 * existed. If that newest block leaves the chain, the follower detects it by its hash at that height.
 *
 * Does nothing for a wallet without an address, or whose assets were all observed.
 *
 * @throws Unavailable when no node answers
 */
export async function observeWallet(ctx: Omit<BalanceContext, 'unread'>, walletId: string): Promise<void> {
  const { pool, log, load, chainOf, readForRecord } = ctx
  const wallet = await findObservable(pool, walletId)
  if (wallet === null) return
  const chain = chainOf(wallet.chain_id)
  const { tenant_id: tenantId, address } = wallet
  const assets = (await knownAssets(ctx, chain, [tenantId])).get(tenantId) ?? []
  await log.commit(async () => {
    const state = (await load([walletId])).get(walletId)?.state ?? {}
    const missing = assets.filter(({ assetId }) => state[assetId] === undefined)
    if (missing.length === 0) return []
    const holdings = missing.map((asset) => ({ walletId, tenantId, address, asset, orphaned: null }))
    const readings = await readForRecord(chain, holdings, await newestBlock(chain))
    return decisionsOfReadings(readings, {
      load,
      cause: 'first_observation',
      now: log.now(),
      actor: 'balance-observer',
    })
  })
}

type ObservableRow = Pick<Row<'wallets', { readonly address: string }>, 'tenant_id' | 'chain_id' | 'address'>

async function findObservable(pool: Pool, walletId: string): Promise<ObservableRow | null> {
  const { rows } = await pool.query<ObservableRow>({
    name: 'observable_wallet',
    text: `SELECT tenant_id, chain_id, address FROM ${WALLETS} AS wallets WHERE wallet_id = $1 AND address IS NOT NULL`,
    values: [walletId],
  })
  return rows[0] ?? null
}
