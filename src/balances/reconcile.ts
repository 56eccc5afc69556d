/**
 * Compares recorded balances with the chain. Finds changes that logs do not show: internal transfers of contracts,
 * tokens that rebase, tokens configured later, and wallets whose first observation was lost.
 *
 * A run reads the native currency of every wallet (one call of a node per 500 wallets) and, for each tenant, at most
 * 500 non-zero token balances and 300 of all others (eight calls), continuing where the last run ended. The cost does
 * not grow with tokens × wallets; a tenant with more of them waits longer, without delaying others.
 *
 * Invariant: it reads at a block that the follower has processed. What the follower records meanwhile is from a newer
 * block and stays: an older observation is no news.
 */
import type { Pool } from 'pg'
import type { Row } from '../event-log/table-rows.ts'
import { WALLETS } from '../wallets/sql.ts'
import type { BalanceContext } from './balance-context.ts'
import { type BalanceChain, type HolderRow, holderOf, nativeOf } from './chain.ts'
import { decisionsOfReadings } from './decisions-of-readings.ts'
import type { BlockRef } from './events.ts'
import type { Holding } from './read-holdings.ts'
import type { TokenRotation } from './token-rotation.ts'

/** One call of a node and one commit. */
const WALLETS_PER_PAGE = 500
/** Keeps a page below the limit of reads at once. */
const TENANTS_PER_PAGE = 5
/** A failed page does not end the run; this many in a row do. */
const FAILURES_IN_A_ROW = 3

export type Reconciled = {
  /** Wallets whose native balance was compared. */
  readonly wallets: number
  /** Wallets with recorded changes; one whose tokens changed too counts twice. */
  readonly corrected: number
}

/** @throws the error of the first failed page, after the others were done */
export async function reconcile(
  ctx: Omit<BalanceContext, 'unread'> & {
    /** Where the last runs ended, for each tenant. */
    readonly rotation: TokenRotation
  },
  chainId: number,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<Reconciled> {
  const { pool, chainOf, rotation } = ctx
  const chain = chainOf(chainId)
  const run = createRun(ctx, chain, signal)
  const tenants = new Set<string>()
  let wallets = 0
  let page = await nextPage(pool, chainId, '')
  while (page.length > 0 && run.goesOn()) {
    for (const { tenant_id } of page) tenants.add(tenant_id)
    const natives = page.map((wallet) => holdingOf(wallet, nativeOf(chain)))
    if (await run.compare(async () => natives)) wallets += page.length
    page = await nextPage(pool, chainId, page.at(-1)?.wallet_id ?? '')
  }
  const all = [...tenants]
  for (let i = 0; i < all.length && run.goesOn(); i += TENANTS_PER_PAGE) {
    const some = all.slice(i, i + TENANTS_PER_PAGE)
    await run.compare(() => rotation.next(chain, some))
  }
  if (run.failure() !== null) throw run.failure()
  return { wallets, corrected: run.corrected() }
}

function createRun(
  { pool, log, load, readForRecord }: Omit<BalanceContext, 'unread'>,
  chain: BalanceChain,
  signal?: AbortSignal,
) {
  let corrected = 0
  let inARow = 0
  let failure: unknown = null
  let walkedNothing = false

  async function comparePage(next: () => Promise<Holding[]>): Promise<boolean> {
    // For each page, since nodes soon drop the state of a block and a run over many wallets takes minutes.
    const walked = await lastWalked(pool, chain.chainId)
    walkedNothing = walked === null
    if (walked === null) return false
    const readings = await readForRecord(chain, await next(), walked)
    // The follower writes the same streams.
    const appended = await log.commit(() =>
      decisionsOfReadings(readings, { load, cause: 'reconciliation', now: log.now(), actor: 'balance-reconciler' }),
    )
    corrected += appended.length
    return true
  }

  return {
    corrected: () => corrected,
    failure: () => failure,
    goesOn: () => !signal?.aborted && !walkedNothing && inARow < FAILURES_IN_A_ROW,
    /** False when the page failed, or when the follower has not processed a block yet. */
    async compare(next: () => Promise<Holding[]>): Promise<boolean> {
      try {
        const compared = await comparePage(next)
        inARow = 0
        return compared
      } catch (error) {
        failure ??= error
        inARow += 1
        return false
      }
    },
  }
}

function holdingOf(wallet: HolderRow, asset: Holding['asset']): Holding {
  return { ...holderOf(wallet), asset, orphaned: null }
}

async function nextPage(pool: Pool, chainId: number, after: string): Promise<HolderRow[]> {
  const { rows } = await pool.query<HolderRow>({
    name: 'wallets_to_reconcile',
    text: `SELECT wallet_id, tenant_id, address FROM ${WALLETS} AS wallets
            WHERE chain_id = $1 AND address IS NOT NULL AND wallet_id > $2
            ORDER BY wallet_id LIMIT ${WALLETS_PER_PAGE}`,
    values: [chainId, after],
  })
  return rows
}

async function lastWalked(pool: Pool, chainId: number): Promise<BlockRef | null> {
  const { rows } = await pool.query<Pick<Row<'chain_cursors'>, 'number' | 'hash'>>({
    name: 'last_walked_block',
    text: 'SELECT number, hash FROM chain_cursors WHERE chain_id = $1',
    values: [chainId],
  })
  const [row] = rows
  return row ? { blockNumber: Number(row.number), blockHash: row.hash } : null
}
