/**
 * Which token balances the reconciliation reads next: for each tenant some non-zero ones and some of all, in rotation,
 * so that every balance is read regardless of other tenants.
 */
import type { Pool } from 'pg'
import type { Row } from '../event-log/table-rows.ts'
import { WALLETS } from '../wallets/sql.ts'
import type { BalanceContext } from './balance-context.ts'
import { assetOf, type BalanceChain, chainPrefix, type HolderRow, holderOf, type RegisteredToken } from './chain.ts'
import { knownAssets } from './known-assets.ts'
import type { Holding } from './read-holdings.ts'

/** Non-zero balances per tenant and run: they may change without a log (rebasing tokens). */
const HELD_PER_TENANT = 500
/**
 * Balances per tenant and run, including zero and unobserved ones. A wallet is never split: with more tokens than this,
 * it is one wallet.
 */
const SWEPT_PER_TENANT = 300

export type TokenRotation = {
  /** The next balances of these tenants: at most 800 per tenant, or all of one wallet if it may hold more. */
  readonly next: (chain: BalanceChain, tenantIds: readonly string[]) => Promise<Holding[]>
}

/**
 * The position of each rotation is kept in memory. A new process starts at a random position, so that frequent restarts
 * still cover every balance.
 */
export function createTokenRotation({ pool }: Pick<BalanceContext, 'pool'>): TokenRotation {
  const places = new Map<string, Place>()

  async function placeOf(chain: BalanceChain, tenantId: string): Promise<Place> {
    const key = `${chain.chainId} ${tenantId}`
    const place = places.get(key) ?? (await somewhere(pool, chain.chainId, tenantId))
    places.set(key, place)
    return place
  }

  return {
    async next(chain, tenantIds) {
      const known = await knownAssets({ pool }, chain, tenantIds)
      const holdings: Holding[] = []
      for (const tenantId of tenantIds) {
        const tokens = (known.get(tenantId) ?? []).filter(({ contract }) => contract !== null)
        if (tokens.length === 0) continue
        const place = await placeOf(chain, tenantId)
        const held = await takeHeld(pool, chain, tenantId, place)
        const wallets = await takeWallets(pool, chain.chainId, tenantId, place, tokens.length)
        holdings.push(
          ...held,
          ...wallets.flatMap((wallet) => tokens.map((asset) => ({ ...wallet, asset, ...NOT_ORPHANED }))),
        )
      }
      return onceEach(holdings)
    },
  }
}

/** The last balance read, of the non-zero ones and of the wallets. */
type Place = { held: readonly [walletId: string, assetId: string]; wallet: string }

const NOT_ORPHANED = { orphaned: null } as const

async function somewhere(pool: Pool, chainId: number, tenantId: string): Promise<Place> {
  const { rows } = await pool.query<Pick<HolderRow, 'wallet_id'>>(
    `SELECT wallet_id FROM ${WALLETS} AS wallets WHERE tenant_id = $1 AND chain_id = $2 AND address IS NOT NULL ORDER BY random() LIMIT 1`,
    [tenantId, chainId],
  )
  const wallet = rows[0]?.wallet_id ?? ''
  return { held: [wallet, ''], wallet }
}

type HeldRow = HolderRow & RegisteredToken & Pick<Row<'balances'>, 'asset_id'>

async function takeHeld(pool: Pool, chain: BalanceChain, tenantId: string, place: Place): Promise<Holding[]> {
  const rows = await fromPlace(HELD_PER_TENANT, async (limit, wrapped) => {
    const [wallet, asset] = wrapped ? ['', ''] : place.held
    const page = await pool.query<HeldRow>({
      name: 'tokens_held',
      text: `SELECT b.wallet_id, b.tenant_id, w.address, b.asset_id, a.contract_address, a.symbol, a.decimals
               FROM balances b
               JOIN ${WALLETS} w ON w.wallet_id = b.wallet_id AND w.address IS NOT NULL
               LEFT JOIN assets a ON a.tenant_id = b.tenant_id AND a.asset_id = b.asset_id AND a.removed_at IS NULL
              WHERE b.tenant_id = $1 AND split_part(b.asset_id, '/', 1) = $2 AND b.balance <> 0
                AND b.asset_id LIKE '%/erc20:%' AND (b.wallet_id, b.asset_id) > ($3, $4)
              ORDER BY b.wallet_id, b.asset_id LIMIT $5`,
      values: [tenantId, chainPrefix(chain.chainId), wallet, asset, limit],
    })
    return page.rows
  })
  const last = rows.at(-1)
  if (last !== undefined) place.held = [last.wallet_id, last.asset_id]
  return rows.flatMap((row) => {
    const asset = assetOf(chain, row)
    return asset === null ? [] : [{ ...holderOf(row), asset, ...NOT_ORPHANED }]
  })
}

async function takeWallets(pool: Pool, chainId: number, tenantId: string, place: Place, tokens: number) {
  const rows = await fromPlace(Math.max(1, Math.floor(SWEPT_PER_TENANT / tokens)), async (limit, wrapped) => {
    const page = await pool.query<HolderRow>({
      name: 'wallets_to_sweep',
      text: `SELECT wallet_id, tenant_id, address FROM ${WALLETS} AS wallets
              WHERE tenant_id = $1 AND chain_id = $2 AND address IS NOT NULL AND wallet_id > $3
              ORDER BY wallet_id LIMIT $4`,
      values: [tenantId, chainId, wrapped ? '' : place.wallet, limit],
    })
    return page.rows
  })
  place.wallet = rows.at(-1)?.wallet_id ?? ''
  return rows.map(holderOf)
}

/** The next rows after the position, wrapping around when there are too few; some rows may be included twice. */
async function fromPlace<Row>(
  limit: number,
  take: (limit: number, wrapped: boolean) => Promise<Row[]>,
): Promise<Row[]> {
  const rows = await take(limit, false)
  return rows.length === limit ? rows : [...rows, ...(await take(limit - rows.length, true))]
}

/** A short list wraps around: keep each wallet and asset once. */
function onceEach(holdings: readonly Holding[]): Holding[] {
  return [...new Map(holdings.map((holding) => [`${holding.walletId} ${holding.asset.assetId}`, holding])).values()]
}
