/**
 * Compares what is recorded with the chain, for all wallets of it: what contracts sent by internal calls, tokens that
 * were registered or configured later, wallets whose first look was lost.
 *
 * Invariant: it reads at a block that the follower has walked. What the follower records meanwhile is of a newer block
 * and stands: an older observation is no news.
 */
import type { Pool } from 'pg'
import type { EventLog } from '../event-log/log.ts'
import { appendDecided } from './append-decided.ts'
import type { BalanceChain, BalanceChainOf } from './chain.ts'
import { decideReadings } from './decide-readings.ts'
import type { BlockRef } from './events.ts'
import type { KnownAssets } from './known-assets.ts'
import type { LoadBalances } from './load-balances.ts'
import { type Holding, readHoldings } from './read-holdings.ts'

/** With a handful of tokens each, a page is a few Multicall3 calls and one commit. */
const WALLETS_PER_PAGE = 250

export type ReconcilePorts = {
  readonly pool: Pool
  readonly log: EventLog
  readonly load: LoadBalances
  readonly knownAssets: KnownAssets
  readonly chainOf: BalanceChainOf
}

export type Reconciled = {
  /** Wallets that were compared. */
  readonly wallets: number
  /** Wallets of which something was recorded. */
  readonly corrected: number
}

export type ReconcileOptions = {
  /** Compare the wallets of this tenant alone: it has just registered a token that they may hold. */
  readonly tenantId?: string
  /** Ends the run after the page that is under way. */
  readonly signal?: AbortSignal
}

/**
 * Compares every wallet of a chain once; its cost grows with their number, so it runs seldom.
 *
 * @throws Unavailable when no node answers: the next run begins anew
 */
export type Reconcile = (chainId: number, options?: ReconcileOptions) => Promise<Reconciled>

export function createReconcile(ports: ReconcilePorts): Reconcile {
  const { pool } = ports
  return async (chainId, { tenantId, signal } = {}) => {
    const chain = ports.chainOf(chainId)
    let [wallets, corrected] = [0, 0]
    let page = await nextPage(pool, { chainId, tenantId, after: '' })
    while (page.length > 0 && !signal?.aborted) {
      // For each page, since nodes soon forget the state of a block and a run over many wallets takes minutes.
      const walked = await lastWalked(pool, chainId)
      if (walked === null) break
      wallets += page.length
      corrected += await reconcilePage(ports, chain, page, walked)
      page = await nextPage(pool, { chainId, tenantId, after: page.at(-1)?.wallet_id ?? '' })
    }
    return { wallets, corrected }
  }
}

type WalletRow = { readonly wallet_id: string; readonly tenant_id: string; readonly address: string }

async function reconcilePage(
  { log, load, knownAssets }: ReconcilePorts,
  chain: BalanceChain,
  wallets: readonly WalletRow[],
  walked: BlockRef,
): Promise<number> {
  const assets = await knownAssets(chain, [...new Set(wallets.map(({ tenant_id }) => tenant_id))])
  const holdings = wallets.flatMap((wallet): Holding[] => {
    const { wallet_id: walletId, tenant_id: tenantId, address } = wallet
    return (assets.get(tenantId) ?? []).map((asset) => ({ walletId, tenantId, address, asset, orphaned: null }))
  })
  const readings = await readHoldings(chain, holdings, walked)
  return appendDecided(log, () =>
    decideReadings(readings, { load, cause: 'reconciliation', now: log.now(), actor: 'balance-reconciler' }),
  )
}

type Page = { readonly chainId: number; readonly tenantId: string | undefined; readonly after: string }

async function nextPage(pool: Pool, { chainId, tenantId, after }: Page): Promise<WalletRow[]> {
  // Two statements, each with an index of its own: one for both would be planned for neither.
  const one = tenantId === undefined ? '' : 'tenant_id = $3 AND '
  const { rows } = await pool.query<WalletRow>({
    name: tenantId === undefined ? 'wallets_to_reconcile' : 'wallets_of_tenant_to_reconcile',
    text: `SELECT wallet_id, tenant_id, address FROM wallets
            WHERE ${one}chain_id = $1 AND address IS NOT NULL AND wallet_id > $2
            ORDER BY wallet_id LIMIT ${WALLETS_PER_PAGE}`,
    values: [chainId, after, ...(tenantId === undefined ? [] : [tenantId])],
  })
  return rows
}

async function lastWalked(pool: Pool, chainId: number): Promise<BlockRef | null> {
  const { rows } = await pool.query<{ number: string; hash: string }>({
    name: 'last_walked_block',
    text: 'SELECT number, hash FROM chain_cursors WHERE chain_id = $1',
    values: [chainId],
  })
  const [row] = rows
  return row ? { blockNumber: Number(row.number), blockHash: row.hash } : null
}
